"""Packets as they appear on the bridge."""

import struct
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.v6.packet import SERVERS, PacketError, parse

CLIENT = IPv6Address("fe80::1")


def packet(payload: bytes, checksum: int | None = None, port: int = 547, head: int = 17) -> bytes:
    length = 8 + len(payload)
    pseudo = CLIENT.packed + SERVERS.packed + struct.pack("!II", length, 17)
    udp = struct.pack("!HHHH", 546, port, length, 0) + payload
    octets = pseudo + udp + b"\0" * (len(udp) % 2)
    total = sum(int.from_bytes(octets[at : at + 2], "big") for at in range(0, len(octets), 2))
    right = (0xFFFF - total % 0xFFFF) or 0xFFFF
    value = right if checksum is None else checksum
    udp = udp[:6] + struct.pack("!H", value) + udp[8:]
    return struct.pack("!IHBB", 0x60000000, length, head, 1) + CLIENT.packed + SERVERS.packed + udp


@given(st.binary(max_size=100), st.binary(max_size=8))
def test_a_packet_is_read_without_its_padding(payload: bytes, padding: bytes) -> None:
    found = parse(packet(payload) + padding, summed=True)
    assert (found.source, found.target, found.port, found.payload) == (CLIENT, SERVERS, 546, payload)


@given(st.binary(min_size=1, max_size=50), st.data())
def test_a_bent_packet_is_refused(payload: bytes, data: st.DataObject) -> None:
    octets = bytearray(packet(payload))
    octets[data.draw(st.integers(48, len(octets) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(PacketError):
        parse(bytes(octets), summed=True)


def test_a_checksum_that_nobody_filled_in_is_not_checked() -> None:
    assert parse(packet(b"hello", checksum=1), summed=False).payload == b"hello"
    for checksum in (0, 1):
        with pytest.raises(PacketError, match="wrong checksum"):
            parse(packet(b"hello", checksum=checksum), summed=True)


@pytest.mark.parametrize("octets", [b"", packet(b"", port=546), packet(b"", head=58), packet(b"hello")[:50]])
def test_what_is_no_packet_for_the_server_is_refused(octets: bytes) -> None:
    with pytest.raises(PacketError):
        parse(octets, summed=False)


@given(st.binary(max_size=120), st.booleans())
def test_any_octets_are_refused_or_read(octets: bytes, summed: bool) -> None:
    try:
        parse(octets, summed)
    except PacketError:
        return
