"""ICMP echoes as octets: they fit their size, forbid fragments, and cross no router; answers are told from the rest."""

import struct
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.dual_stack import Version
from agents.neighbours.icmp import checksum
from agents.passages.echo import ANSWERS, Echo, answer, request
from tests.unit.agents.passages.test_frames import FAR, MAC, through

PLACES: dict[Version, tuple[str, str]] = {4: ("10.1.0.1", "10.2.0.1"), 6: ("2001:db8:1::1", "2001:db8:2::1")}
HEAD: dict[Version, int] = {4: 34, 6: 54}


def asked(version: Version, size: int, number: int = 7) -> bytes:
    own, far = PLACES[version]
    return request(Echo(MAC, own, FAR, far, 0xBEEF, number, size), version)


def replied(frame: bytes, version: Version) -> bytes:
    """Return the answer of the host that is asked."""
    at = HEAD[version]
    ends = frame[26:34] if version == 4 else frame[22:54]
    half = len(ends) // 2
    head = frame[6:12] + frame[:6] + frame[12 : at - len(ends)] + ends[half:] + ends[:half]
    return head + bytes([0 if version == 4 else 129]) + frame[at + 1 :]


@pytest.mark.parametrize("version", get_args(Version))
@pytest.mark.parametrize("size", [84, 576, 1450, 9000])
def test_an_echo_is_whole_and_of_its_size(version: Version, size: int) -> None:
    frame = asked(version, size)
    assert len(frame) - 14 == size and frame[:6].hex(":") == FAR and frame[6:12].hex(":") == MAC
    packet = frame[14:]
    if version == 4:
        assert checksum(packet[:20]) == 0 and checksum(packet[20:]) == 0
        assert struct.unpack("!H", packet[2:4])[0] == size
        assert packet[6] == 0x40, "Don't Fragment"
        assert packet[8] == 1, "no router passes it on"
    else:
        pseudo = packet[8:40] + struct.pack("!II", size - 40, 58)
        assert checksum(pseudo + packet[40:]) == 0 and packet[7] == 1


@pytest.mark.parametrize("version", get_args(Version))
def test_its_answer_is_known_and_nothing_else(version: Version) -> None:
    frame, far = asked(version, 300), PLACES[version][1]
    said = replied(frame, version)
    assert through(ANSWERS[version], said) and answer(said, version, MAC, 0xBEEF) == (far, 7)
    assert not through(ANSWERS[version], frame) and answer(frame, version, MAC, 0xBEEF) is None
    assert answer(said, version, FAR, 0xBEEF) is None, "it is for another gateway"
    assert answer(said, version, MAC, 0xBEE0) is None, "it answers somebody else"
    assert not through(ANSWERS[6 if version == 4 else 4], said)


@pytest.mark.parametrize("version", get_args(Version))
@given(frame=st.binary(max_size=90))
def test_garbage_is_no_answer(version: Version, frame: bytes) -> None:
    assert answer(frame, version, MAC, 0xBEEF) is None


@pytest.mark.parametrize("version", get_args(Version))
def test_a_size_below_the_headers_gives_the_headers(version: Version) -> None:
    assert len(asked(version, 1)) == HEAD[version] + 8
