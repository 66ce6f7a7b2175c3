"""The wire format: written messages read back equal, and no input does harm."""

from contextlib import suppress
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.v6.message import (
    Association,
    Lifetimes,
    Message,
    MessageError,
    MessageType,
    Option,
    Outcome,
    Status,
    decode,
    encode,
)

numbers = st.integers(0, 2**32 - 1)
outcomes = st.none() | st.builds(Outcome, st.sampled_from(Status), st.text(max_size=20))
addresses = st.lists(st.builds(Lifetimes, st.builds(IPv6Address, st.integers(0, 2**128 - 1)), numbers, numbers)).map(
    tuple
)
duids = st.none() | st.binary(min_size=3, max_size=130)
unnamed = st.integers(0, 65535).filter(lambda c: c not in (1, 2, 3, 4, 13, 25))


@st.composite
def associations(draw: st.DrawFn) -> Association:
    option = draw(st.sampled_from([Option.IA_NA, Option.IA_TA, Option.IA_PD]))
    times = (0, 0) if option is Option.IA_TA else draw(st.tuples(numbers, numbers))
    held = () if option is Option.IA_PD else draw(addresses)
    return Association(option, draw(numbers), *times, held, draw(outcomes))


messages = st.builds(
    Message,
    st.sampled_from(MessageType),
    st.integers(0, 2**24 - 1),
    duids,
    duids,
    st.lists(associations(), max_size=4).map(tuple),
    outcomes,
    st.lists(st.tuples(unnamed, st.binary(max_size=30)), max_size=4).map(tuple),
)


@given(messages)
def test_what_is_written_is_read_again(message: Message) -> None:
    assert decode(encode(message)) == message


@given(messages, st.data())
def test_what_is_cut_or_bent_is_refused_or_read(message: Message, data: st.DataObject) -> None:
    octets = bytearray(encode(message))
    at = data.draw(st.integers(0, len(octets) - 1))
    octets[at] ^= data.draw(st.integers(0, 255))
    with suppress(MessageError):
        again = decode(bytes(octets[: data.draw(st.integers(0, len(octets)))]))
        assert decode(encode(again)) == again


@given(st.binary(max_size=300))
def test_any_octets_are_refused_or_read(octets: bytes) -> None:
    with suppress(MessageError):
        encode(decode(octets))


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        ("01", "too few"),
        ("0c000000", "message type 12"),
        ("01000000" + "0001", "head runs past"),
        ("01000000" + "00010004aabb", "option 1 runs past"),
        ("01000000" + "00010002aabb", "a DUID of 2 octets"),
        ("01000000" + "00030004" + "00000001", "IA_NA of 4 octets"),
        ("01000000" + "00030010" + "00" * 12 + "00050000", "an address option of 0 octets"),
        ("01000000" + "000d0001" + "00", "a status without its code"),
    ],
)
def test_says_what_is_wrong(octets: str, reason: str) -> None:
    with pytest.raises(MessageError, match=reason):
        decode(bytes.fromhex(octets))


def test_a_message_of_dhclient() -> None:
    """A SOLICIT as ISC dhclient 4.4.3 sends it."""
    octets = "016a3b510001000e00010001329f2a4a02005e000001000600080017001800270001000800020000"
    octets += "0003000c5e00000100000e1000001518"
    message = decode(bytes.fromhex(octets.replace(" ", "")))
    assert (message.kind, message.transaction) == (MessageType.SOLICIT, 0x6A3B51)
    assert message.client == bytes.fromhex("00010001329f2a4a02005e000001")
    assert message.associations == (Association(Option.IA_NA, 0x5E000001, 3600, 5400),)
    assert [code for code, _ in message.others] == [6, 8]
