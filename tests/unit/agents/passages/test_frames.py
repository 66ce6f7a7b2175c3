"""Questions and answers as octets, through the filters that the kernel uses."""

import socket
import struct
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import bpf
from agents.neighbours.icmp import checksum
from agents.passages import arp, discovery

MAC, FAR = "02:57:00:00:00:02", "02:57:00:00:00:03"
ADDRESSES = st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str)


def reply4(asked: bytes, mac: str) -> bytes:
    """Return the answer of the queried host."""
    near, far = asked[28:32], asked[38:42]
    octets = bytes.fromhex(mac.replace(":", ""))
    return asked[6:12] + octets + asked[12:20] + b"\0\2" + octets + far + asked[6:12] + near


def reply6(asked: bytes, mac: str) -> bytes:
    octets = bytes.fromhex(mac.replace(":", ""))
    near, wanted = asked[22:38], asked[62:78]
    head = asked[6:12] + octets + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, 32, 58, 255) + wanted + near
    return head + struct.pack("!BBHI", 136, 0, 0, 0x60000000) + wanted + b"\2\1" + octets


def through(program: list[bpf.Step], frame: bytes) -> bool:
    mouth, ear = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with mouth, ear:
        bpf.attach(ear, program)
        ear.setblocking(False)
        mouth.send(frame)
        try:
            return ear.recv(4096) == frame
        except BlockingIOError:
            return False


@given(*ADDRESSES[:1], *ADDRESSES[:1])
def test_arp_answers_are_read_and_nothing_else(one: str, other: str) -> None:
    asked = arp.request(MAC, one, other, None)
    assert asked[:6] == b"\xff" * 6 and arp.answer(asked, MAC) is None and not through(arp.ANSWERS, asked)
    said = reply4(asked, FAR)
    assert arp.answer(said, MAC) == (other, FAR) and arp.answer(said, FAR) is None and through(arp.ANSWERS, said)


@given(*ADDRESSES[1:], *ADDRESSES[1:], st.sampled_from([None, FAR]))
def test_discovery_answers_are_read_and_nothing_else(one: str, other: str, to: str | None) -> None:
    asked = discovery.request(MAC, one, other, to)
    far = IPv6Address(other).packed
    goal = asked[38:54]
    assert goal == (far if to else IPv6Address("ff02::1:ff00:0").packed[:13] + far[13:])
    assert asked[:6] == (bytes.fromhex(FAR.replace(":", "")) if to else b"\x33\x33" + goal[12:])
    assert checksum(asked[22:54] + struct.pack("!II", len(asked) - 54, 58) + asked[54:]) == 0
    assert discovery.answer(asked, MAC) is None and not through(discovery.ANSWERS, asked)
    said = reply6(asked, FAR)
    assert discovery.answer(said, MAC) == (other, FAR) and through(discovery.ANSWERS, said)
    assert discovery.answer(said, FAR) is None
    assert discovery.answer(said[:21] + b"\x40" + said[22:], MAC) is None, "a router has passed it on (RFC 4861, 7.1.2)"


@pytest.mark.parametrize("read", [arp.answer, discovery.answer])
def test_whatever_comes_is_no_error(read: object) -> None:
    @given(st.binary(max_size=120))
    def check(frame: bytes) -> None:
        assert callable(read)
        read(frame, MAC)

    check()
