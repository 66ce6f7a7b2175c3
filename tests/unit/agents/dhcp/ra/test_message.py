"""Router advertisements in their wire format, and malformed solicitations."""

from contextlib import suppress
from ipaddress import IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.ra.message import Advertisement, MessageError, check, encode
from controller.wire.host_settings import HostSettings, Route

HOST, NOBODY = IPv6Address("fe80::1"), IPv6Address("::")
ASKING = bytes((133, 0, 0, 0, 0, 0, 0, 0))
SOURCE = bytes((1, 1)) + bytes(6)


def test_an_advertisement_octet_by_octet() -> None:
    told = Advertisement(bytes.fromhex("02005e000001"), IPv6Network("2001:db8:1::/64"), 1400, 1800)
    assert encode(told).hex(" ", -4) == (
        "86000000 40c00708 00000000 00000000 "  # 64 hops, M and O, 1800 s
        "01010200 5e000001 "  # the router's Ethernet address
        "05010000 00000578 "  # MTU 1400
        "03044080 00278d00 00278d00 00000000 20010db8 00010000 00000000 00000000"  # on link, not autonomous
    )


def test_names_and_routes_octet_by_octet() -> None:
    hosts = HostSettings(
        dns=("10.0.0.53", "2001:db8::53"),
        search=("lab.example",),
        routes=(Route(to="10.9.0.0/16"), Route(to="2001:db8:7::/48"), Route(to="2001:db8:8::1/128")),
    )
    told = Advertisement.of("02:00:5e:00:00:01", "2001:db8:1::/64", 1400, hosts)
    assert encode(told)[64:].hex(" ", -4) == (
        "18023000 00000708 20010db8 00070000 "  # RFC 4191: length 2 for up to 64 bits, 1800 s
        "18038000 00000708 20010db8 00080000 00000000 00000001 "
        "19030000 00000708 20010db8 00000000 00000000 00000053 "  # RFC 8106
        "1f030000 00000708 036c6162 07657861 6d706c65 00000000"
    )


def test_solicitations() -> None:
    check(ASKING, NOBODY, 255)
    check(ASKING + SOURCE, HOST, 255)
    check(ASKING + bytes((200, 2)) + bytes(14) + SOURCE, HOST, 255)


@pytest.mark.parametrize(
    ("octets", "source", "hops", "reason"),
    [
        (ASKING, HOST, 254, "over a router"),
        (ASKING[:7], HOST, 255, "no solicitation"),
        (b"\x86" + ASKING[1:], HOST, 255, "no solicitation"),
        (b"\x85\x01" + ASKING[2:], HOST, 255, "no solicitation"),
        (ASKING + bytes((1, 0)), HOST, 255, "empty"),
        (ASKING + bytes((1, 2)) + bytes(6), HOST, 255, "past the end"),
        (ASKING + bytes((1,)), HOST, 255, "past the end"),
        (ASKING + SOURCE, NOBODY, 255, "without an address"),
    ],
)
def test_what_is_no_solicitation(octets: bytes, source: IPv6Address, hops: int, reason: str) -> None:
    with pytest.raises(MessageError, match=reason):
        check(octets, source, hops)


@given(st.binary(max_size=100))
def test_any_octets_are_refused_or_read(octets: bytes) -> None:
    with suppress(MessageError):
        check(octets, HOST, 255)
    with suppress(MessageError):
        check(ASKING + octets, HOST, 255)
