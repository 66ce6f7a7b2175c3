"""The clear-text parts of a frame, and the reader of capture files."""

import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.clear import Leak, TrafficKind, judge
from lab.errors import LabError
from lab.pcap import frames

KEEPALIVE = b"\xff" * 16 + b"\x00\x13\x04"
REPORT = b"POST /api/v1/agent/reports HTTP/1.1\r\nHost: 192.0.2.9\r\nAuthorization: Bearer s\r\n\r\n"
TLS = b"\x17\x03\x03\x04\x00"


def ipv4(protocol: int, body: bytes, fragment: int = 0, options: int = 0) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45 + options, 0, 20 + len(body), 0, fragment, 64, protocol, 0)
    ends = bytes([192, 0, 2, 1, 192, 0, 2, 2])
    return bytes(12) + b"\x08\x00" + head + ends + bytes(4 * options) + body


def udp(port: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", 50000, port, 8 + len(payload), 0) + payload


def tcp(payload: bytes, port: int = 8443) -> bytes:
    return struct.pack(">HHIIHHHH", 50000, port, 1, 1, 0x5018, 0, 0, 0) + payload


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (ipv4(17, udp(4789, bytes(8) + b"frame")), TrafficKind.VXLAN),
        (ipv4(17, udp(4789, KEEPALIVE), options=2), TrafficKind.VXLAN),
        (ipv4(6, tcp(KEEPALIVE, 179)), TrafficKind.BGP),
        (ipv4(6, tcp(b"the rest of another" + KEEPALIVE, 1790)), TrafficKind.BGP),
        (ipv4(17, KEEPALIVE, fragment=185), TrafficKind.BGP),
        (ipv4(6, tcp(REPORT)), TrafficKind.API),
        (ipv4(6, tcp(b"HTTP/1.1 200 OK\r\n\r\n")), TrafficKind.API),
        (ipv4(6, tcp(b'event: desired\r\ndata: {"cloudlet":"c1"}')), TrafficKind.API),
        (ipv4(6, tcp(b'{"version":3,"cloudlet":"c1"}')), TrafficKind.API),
        (ipv4(6, tcp(b"QEVM\x00\x00\x00\x03\x07", 49152)), TrafficKind.MOVE),
        (ipv4(6, tcp(b"\x11\x22\x33\x44\x00\x00\x00\x01" + bytes(16), 49152)), TrafficKind.MOVE),
        (ipv4(6, tcp(b"NBDMAGICIHAVEOPT\x00\x03", 5000)), TrafficKind.MOVE),
        (ipv4(6, tcp(b"\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x07", 5000)), TrafficKind.MOVE),
        (ipv4(6, tcp(b"the rest" + b"\x25\x60\x95\x13\x00\x00\x00\x01" + bytes(20), 5000)), TrafficKind.MOVE),
    ],
)
def test_what_is_in_the_clear_is_known(frame: bytes, kind: TrafficKind) -> None:
    assert judge(frame) == Leak(kind, "192.0.2.1", "192.0.2.2")


def test_no_tcp_is_silent_enough_between_those_who_encrypt() -> None:
    both = frozenset({"192.0.2.1", "192.0.2.2"})
    for frame in (ipv4(6, tcp(b"")), ipv4(6, b"\x12\xb5", fragment=185)):
        assert judge(frame, both) == Leak(TrafficKind.TCP, "192.0.2.1", "192.0.2.2")
        assert judge(frame, {"192.0.2.1"}) is None and judge(frame) is None
    assert judge(ipv4(17, udp(4000, b"a probe")), both) is None
    assert judge(ipv4(6, tcp(KEEPALIVE)), both) == Leak(TrafficKind.BGP, "192.0.2.1", "192.0.2.2")


def test_ipv6_is_looked_into_as_well() -> None:
    ends = bytes.fromhex("20010db8" + "00" * 11 + "01" + "20010db8" + "00" * 11 + "02")
    frame = bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, 99, 6, 64) + ends + tcp(REPORT)
    assert judge(frame) == Leak(TrafficKind.API, "2001:db8::1", "2001:db8::2")


@pytest.mark.parametrize(
    "frame",
    [
        ipv4(6, tcp(b"", 179)),
        ipv4(17, udp(4500, b"\x00" * 4 + b"IKE")),
        ipv4(17, b"\x12\xb5\x12\xb5", fragment=185),
        bytes(12) + b"\x08\x06" + bytes(28),
        b"",
        bytes(14),
    ],
)
def test_what_says_nothing_is_nothing(frame: bytes) -> None:
    assert judge(frame) is None


@given(st.binary(max_size=200))
def test_anything_may_come(frame: bytes) -> None:
    judge(frame)
    judge(bytes(12) + b"\x08\x00" + frame)


def test_what_is_encrypted_is_not_taken_for_something() -> None:
    assert not any(judge(ipv4(6, tcp(TLS + os.urandom(1400)))) for _ in range(1000))


@pytest.mark.parametrize("order", "<>")
def test_a_capture_file(order: str) -> None:
    head = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    one, two = (struct.pack(f"{order}IIII", 7, micros, 3, 90) + b"abc" for micros in (0, 500_000))
    assert list(frames(head + one + two)) == [(7.0, b"abc"), (7.5, b"abc")]
    assert list(frames(head + one + two[:-1])) == [(7.0, b"abc")]
    with pytest.raises(LabError, match="link type 113"):
        list(frames(head[:20] + struct.pack(f"{order}I", 113)))


def test_another_file() -> None:
    with pytest.raises(LabError, match="not a capture file"):
        list(frames(b"PK\x03\x04" + bytes(40)))
