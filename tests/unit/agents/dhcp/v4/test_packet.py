"""Checksums, verified as a receiver does it: the sum over the whole packet is all ones."""

import struct
from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.v4.packet import packet

addresses = st.integers(0, 2**32 - 1).map(IPv4Address)


def ones_sum(data: bytes) -> int:
    total = 0
    for at in range(0, len(data), 2):
        total += int.from_bytes(data[at : at + 2].ljust(2, b"\0"))
        total = (total & 0xFFFF) + (total >> 16)
    return total


@given(addresses, addresses, st.binary(max_size=600))
def test_headers(source: IPv4Address, target: IPv4Address, payload: bytes) -> None:
    data = packet(source, target, payload)
    head, udp = data[:20], data[20:]
    assert ones_sum(head) == 0xFFFF
    assert ones_sum(source.packed + target.packed + struct.pack("!HH", 17, len(udp)) + udp) == 0xFFFF
    assert struct.unpack("!HHH", udp[:6]) == (67, 68, len(udp))
    assert struct.unpack("!H", head[2:4])[0] == len(data)
    assert (head[12:16], head[16:20], udp[8:]) == (source.packed, target.packed, payload)
