"""Options of Multipath TCP: each as RFC 8684 draws it, and only OptionError for anything else."""

import struct
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.multipath.options import (
    AddAddress,
    Capable,
    Data,
    Join,
    Option,
    OptionError,
    Other,
    Priority,
    RemoveAddress,
    option,
    options,
)
from tests.unit.agents.multipath.frames import NOPS_AND_TIMESTAMP, join_ack, join_syn, join_synack, mptcp

NUMBERS = st.integers(0, 2**32 - 1)
IDS = st.integers(0, 255)
ADDRESSES: st.SearchStrategy[IPv4Address | IPv6Address] = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (mptcp(0, 1, b"\x81"), Capable(1, 0)),  # SYN
        (mptcp(0, 1, b"\x81" + bytes(8)), Capable(1, 1)),  # SYN/ACK
        (mptcp(0, 1, b"\x81" + bytes(16)), Capable(1, 2)),  # ACK
        (mptcp(0, 1, b"\x81" + bytes(18)), Capable(1, 2)),  # ACK with data
        (mptcp(0, 1, b"\x81" + bytes(20)), Capable(1, 2)),  # and checksum
        (mptcp(0, 0, b"\x81" + bytes(8)), Capable(0, 1)),  # RFC 6824
        (join_syn(0xDEADBEEF, 4, True, 9), Join("syn", 4, True, 0xDEADBEEF, 9)),
        (join_synack(5, False, 10), Join("synack", 5, False, None, 10)),
        (join_ack(), Join("ack")),
        (mptcp(2, 0, b"\x01" + bytes(4)), Data(True, False, False)),
        (mptcp(2, 0, b"\x17" + bytes(24)), Data(True, True, True)),
        (mptcp(4, 0, b"\x02\x03"), RemoveAddress((2, 3))),
        (mptcp(5, 1, b""), Priority(True)),
        (mptcp(5, 0, b"\x03"), Priority(False)),  # RFC 6824 had an address ID there
        (mptcp(6, 0, b"\x00" + bytes(8)), Other(6)),
        (mptcp(8, 0, b"\x01"), Other(8)),
        (mptcp(15, 0, b""), Other(15)),
    ],
)
def test_each_as_the_rfc_draws_it(data: bytes, expected: Option) -> None:
    assert option(data) == expected


@given(ADDRESSES, IDS, st.none() | st.integers(0, 65535), st.booleans())
def test_addresses_announced(address: IPv4Address | IPv6Address, number: int, port: int | None, echo: bool) -> None:
    rest = bytes((number,)) + address.packed
    rest += b"" if port is None else struct.pack("!H", port)
    rest += b"" if echo else b"m" * 8
    assert option(mptcp(3, int(echo), rest)) == AddAddress(number, ip_address(address.packed), port, echo)


@given(NUMBERS, NUMBERS, IDS, st.booleans())
def test_joins_asked_for(token: int, random: int, number: int, backup: bool) -> None:
    assert option(join_syn(token, number, backup, random)) == Join("syn", number, backup, token, random)


@given(st.lists(st.sampled_from([b"\1", NOPS_AND_TIMESTAMP, b"\2\4\5\xb4", join_syn(1), mptcp(5, 1, b"")])))
def test_found_among_others_in_their_order(parts: list[bytes]) -> None:
    found = list(options(b"".join(parts) + b"\0" + join_ack()))
    assert found == [option(part) for part in parts if part[0] == 30]


@given(st.binary(max_size=40))
def test_anything_else_is_refused_and_nothing_worse(field: bytes) -> None:
    try:
        assert all(isinstance(found, Option) for found in options(field))
    except OptionError as error:
        assert str(error)


@given(
    st.sampled_from([join_syn(1), join_synack(), join_ack(), mptcp(3, 0, bytes(13)), mptcp(2, 0, bytes(9))]), st.data()
)
def test_cut_short(whole: bytes, data: st.DataObject) -> None:
    with pytest.raises(OptionError):
        list(options(whole[: data.draw(st.integers(1, len(whole) - 1))]))


@pytest.mark.parametrize("subtype", range(6))
def test_impossible_lengths(subtype: int) -> None:
    with pytest.raises(OptionError, match=f"subtype {subtype}"):
        option(mptcp(subtype, 0, bytes(30) if subtype not in (2, 4) else b""))
