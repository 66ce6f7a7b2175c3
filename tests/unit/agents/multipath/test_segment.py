"""TCP segments from frames: both IP versions, tags, extension headers, and malformed frames."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.multipath.options import Join
from agents.multipath.segment import ACK, SYN, End, Segment, SegmentError, segment
from tests.unit.agents.multipath.frames import NOPS_AND_TIMESTAMP, ethernet, frame, ip, join_syn, tcp

VM, DEVICE = End(ip_address("10.2.0.5"), 5000), End(ip_address("10.2.0.4"), 40000)
VM6, DEVICE6 = End(ip_address("2001:db8:2::5"), 5000), End(ip_address("2001:db8:2::4"), 40000)
TAGS = st.lists(st.sampled_from([0x8100, 0x88A8, 0x9100]), max_size=3).map(tuple)
FOUR = st.tuples(*[st.ip_addresses(v=4)] * 2)
SIX = st.tuples(*[st.ip_addresses(v=6)] * 2)
PORTS, NUMBERS = st.integers(0, 65535), st.integers(0, 2**32 - 1)


@given(st.one_of(FOUR, SIX), PORTS, PORTS, NUMBERS, NUMBERS, st.integers(0, 63), TAGS, st.binary(max_size=20))
def test_what_went_in_comes_out(
    addresses: tuple[IPv4Address, IPv4Address] | tuple[IPv6Address, IPv6Address],
    source: int,
    target: int,
    sequence: int,
    acknowledgment: int,
    flags: int,
    tags: tuple[int, ...],
    data: bytes,
) -> None:
    options = NOPS_AND_TIMESTAMP + join_syn(5)
    packet = ip(addresses[0], addresses[1], tcp(source, target, sequence, acknowledgment, flags, options, data))
    one, other = End(addresses[0], source), End(addresses[1], target)
    expected = Segment(one, other, sequence, acknowledgment, flags, (Join("syn", 2, False, 5, 7),))
    assert segment(ethernet(packet, tags)) == expected


@pytest.mark.parametrize("first", [0, 43, 60])
def test_extension_headers_are_passed_over(first: int) -> None:
    chain = bytes((60, 0)) + bytes(6) + bytes((6, 1)) + bytes(14)
    packet = ip(VM6.address, DEVICE6.address, tcp(5000, 40000, 1, 2, ACK, b"", b""), chain, first)
    assert segment(ethernet(packet)) == Segment(VM6, DEVICE6, 1, 2, ACK)


@given(st.sampled_from([(VM, DEVICE), (VM6, DEVICE6)]), st.data())
def test_cut_short(ends: tuple[End, End], data: st.DataObject) -> None:
    whole = frame(*ends, 1, 0, SYN, join_syn(5))
    with pytest.raises(SegmentError):
        segment(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=120))
def test_any_octets(frame: bytes) -> None:
    with pytest.raises(SegmentError):
        raise SegmentError(str(segment(frame)))


@given(st.sampled_from([(VM, DEVICE), (VM6, DEVICE6)]), st.data())
def test_octets_turned(ends: tuple[End, End], data: st.DataObject) -> None:
    """A frame with any error is read, or refused with a message."""
    octets = bytearray(frame(*ends, 1, 0, SYN, NOPS_AND_TIMESTAMP + join_syn(5)))
    for at in data.draw(st.lists(st.integers(12, len(octets) - 1), min_size=1, max_size=4)):
        octets[at] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(segment(bytes(octets)), Segment)
    except SegmentError as error:
        assert str(error)


def test_fragments_and_others_are_not_tcp() -> None:
    packet = bytearray(ip(VM.address, DEVICE.address, tcp(1, 2, 3, 4, ACK, b"", b"")))
    for at, value in ((6, 0x20), (7, 0x01), (9, 17), (0, 0x44)):
        turned = packet.copy()
        turned[at] = value
        with pytest.raises(SegmentError, match="IPv4"):
            segment(ethernet(bytes(turned)[:1] + bytes(turned)[1:]) if at else bytes(12) + b"\x08\x00" + bytes(turned))
    with pytest.raises(SegmentError, match="0x0806"):
        segment(bytes(12) + b"\x08\x06" + bytes(28))
