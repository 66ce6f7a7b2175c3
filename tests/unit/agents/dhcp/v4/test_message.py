"""The codec: round trips, and only MessageError on malformed input."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.v4.message import Message, MessageError, MessageType, Option, decode, encode

addresses = st.integers(0, 2**32 - 1).map(IPv4Address)
options = st.dictionaries(
    st.integers(1, 254).filter(lambda code: code not in (Option.MESSAGE_TYPE, Option.OVERLOAD)),
    st.binary(max_size=255),
    max_size=8,
)
messages = st.builds(
    Message,
    op=st.sampled_from([1, 2]),
    xid=st.integers(0, 2**32 - 1),
    mac=st.binary(min_size=6, max_size=6),
    kind=st.sampled_from(MessageType),
    broadcast=st.booleans(),
    secs=st.integers(0, 2**16 - 1),
    ciaddr=addresses,
    yiaddr=addresses,
    siaddr=addresses,
    giaddr=addresses,
    options=options,
)
PLAIN = Message(op=1, xid=7, mac=bytes.fromhex("02005e000001"), kind=MessageType.DISCOVER)


def fixed(file: bytes = b"") -> bytes:
    data = bytearray(encode(PLAIN)[:240])
    data[108 : 108 + len(file)] = file
    return bytes(data)


@given(messages)
def test_round_trip(message: Message) -> None:
    assert decode(encode(message)) == message


@given(st.binary(max_size=600))
def test_garbage(data: bytes) -> None:
    with pytest.raises(MessageError):
        decode(data)


@given(st.binary(max_size=300))
def test_garbage_behind_a_good_head(tail: bytes) -> None:
    try:
        decode(fixed() + tail)
    except MessageError:
        return


@given(messages, st.data())
def test_a_flipped_octet(message: Message, data: st.DataObject) -> None:
    octets = bytearray(encode(message))
    octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(octets))
    except MessageError:
        return


def test_an_option_in_parts_is_put_together() -> None:
    message = decode(fixed() + bytes((53, 1, 1, 61, 2, 1, 2, 61, 2, 3, 4, 255)))
    assert message.options[Option.CLIENT_ID] == bytes((1, 2, 3, 4))


def test_options_in_the_file_field() -> None:
    file = bytes((50, 4, 10, 1, 0, 2, 255))
    message = decode(fixed(file) + bytes((53, 1, 3, 52, 1, 1, 255)))
    assert message.address(Option.REQUESTED_ADDRESS) == IPv4Address("10.1.0.2")


def test_an_address_of_another_length_is_none() -> None:
    assert decode(fixed() + bytes((53, 1, 3, 50, 3, 10, 1, 0, 255))).address(Option.REQUESTED_ADDRESS) is None


def test_replies_are_as_long_as_bootp() -> None:
    assert len(encode(PLAIN)) == 300


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (fixed()[:200], "too few"),
        (fixed()[:236] + b"nope" + bytes(60), "cookie"),
        (fixed() + bytes((255,)), "message type missing"),
        (fixed() + bytes((53, 1, 9, 255)), "message type 09"),
        (fixed() + bytes((53, 200, 1)), "runs past the end"),
        (fixed() + bytes((53,)), "runs past the end"),
        (b"\3" + fixed()[1:] + bytes((53, 1, 1, 255)), "op 3"),
        (b"\1\6" + fixed()[2:] + bytes((53, 1, 1, 255)), "hardware type 6"),
    ],
)
def test_says_why(data: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        decode(data)
