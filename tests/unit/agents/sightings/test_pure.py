"""The kernel's log messages, the sightings that the agent reports, and how it merges them."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.sightings.buffer import BATCH, DELAY, INTERVAL, KEPT, Buffer, sightings
from agents.sightings.lans import lans, watches
from agents.sightings.message import Seen, decode
from agents.sightings.rules import BURST, PORTS, QUIET, RATE, ROOM, Watch, ruleset
from tests.unit.agents.desires import desired, dual, endpoint, remote

# A log message of this kernel (6.18): an echo request from 10.2.0.2 at a port of a bridge, with `snaplen 40`.
PACKET = bytes.fromhex(
    "d000000000040000000000000000000007005745080001000800000009000a006c616e310000000008000600000000020800040000000003"
    "1000080000060000c2e0a1e7ade3000006000f000001000006001100000e0000120010005a2ce56c9357c2e0a1e7ade30800000014000300"
    "000000006b021f7900000000000a292608000b000000000008000e0000000000120015005a2ce56c9357c2e0a1e7ade3080000002c000900"
    "45000054ec10400040013a930a0200020a01000108000b0f2ba20001791f026b000000007df00900"
)
PACKET6 = bytes.fromhex(
    "c0000000000400000000000000000000070057450800010086dd000009000a006c616e310000000008000600000000020800040000000003"
    "1000080000060000c2e0a1e7ade3000006000f000001000006001100000e000012001000333300000016c2e0a1e7ade386dd000014000300"
    "000000006b021f7a00000000000df8d012001500333300000016c2e0a1e7ade386dd00002c0009006000000000240001fe80000000000000"
    "c0e0a1fffee7ade3ff020000000000000000000000000016"
)
MAC = "c2:e0:a1:e7:ad:e3"


def test_the_kernels_words_are_read() -> None:
    assert list(decode(PACKET)) == [Seen("lan1", 3, 2, "10.2.0.2", MAC)]
    assert list(decode(PACKET6 + PACKET)) == [
        Seen("lan1", 3, 2, "fe80::c0e0:a1ff:fee7:ade3", MAC),
        Seen("lan1", 3, 2, "10.2.0.2", MAC),
    ]


def test_other_messages_are_passed_over() -> None:
    other = struct.pack("=IHHII", 20, (4 << 8) | 1, 0, 0, 0) + bytes(4)
    assert list(decode(other + PACKET)) == list(decode(PACKET))


@given(st.binary(max_size=300))
def test_nothing_that_is_said_ends_the_reading(noise: bytes) -> None:
    list(decode(noise))


@given(st.integers(0, len(PACKET) - 1), st.binary(min_size=1, max_size=8))
def test_nor_does_a_message_with_a_few_wrong_bytes(at: int, wrong: bytes) -> None:
    for seen in decode(PACKET[:at] + wrong + PACKET[at + len(wrong) :]):
        assert seen.mac.count(":") == 5
    assert len(list(decode(PACKET[:at]))) == 0


def test_rules_are_the_same_for_the_same_lans() -> None:
    one, two = Watch("pw1.*", ("10.1.0.0/24", "2001:db8:1::/64")), Watch("vx2", ("10.9.0.0/24",))
    assert ruleset([one, two]) == ruleset([two, one])
    assert "elements = { 10.1.0.0/24, 10.9.0.0/24 }" in ruleset([one, two])
    assert "flags interval; auto-merge; }" in ruleset([two]), "no element is no list of elements"
    assert ruleset([]).splitlines() == ["table bridge weft-sightings", "delete table bridge weft-sightings"]


def test_a_set_cannot_fill_up_before_its_first_element_expires() -> None:
    assert ROOM > PORTS * (RATE * QUIET + BURST)


def test_a_wrong_prefix_is_refused() -> None:
    with pytest.raises(ValueError, match=r"10\.1\.0\.0/240"):
        ruleset([Watch("pw1.*", ("10.1.0.0/240",))])


def test_who_is_meant() -> None:
    here, there = endpoint(1, **dual(1)), endpoint(2, **dual(2))
    want = desired(here.model_copy(update={"remotes": [remote(there)]}), endpoint(9, index=2))
    found = lans(want)
    assert {lan.endpoint for lan in found.values()} == {"e1", "e9"}
    lan = found["lan1"]
    for way, address, minded in (
        ("in", "10.2.0.2", True),
        ("in", "10.1.0.2", True),  # one of ours, from elsewhere
        ("in", "10.3.0.2", False),
        ("in", "2001:db8:2::2", True),
        ("at", "10.2.0.2", True),  # the VM has kept its address
        ("at", "10.1.0.2", False),
        ("at", "192.0.2.7", False),
    ):
        assert lan.minds(way, address) is minded, (way, address)
    assert watches(want) == [Watch("pw1.*", (here.prefix, "2001:db8:1::/64")), Watch("pw2.*", ("10.9.0.0/24",))]


def test_duplicates_collapse_and_the_last_one_is_told() -> None:
    buffer = Buffer()
    for at in (0.0, 0.1, 0.2):
        buffer.add("e1", "10.2.0.2", "packet", MAC, at)
    assert buffer.due == DELAY["packet"] and not buffer.take(0.5)
    [told] = sightings(buffer.take(2.0), 2.0)
    assert (told.count, told.age, told.mac) == (3, 1.8, MAC)
    buffer.add("e1", "10.2.0.2", "packet", MAC, 3.0)
    assert buffer.due == 2.0 + INTERVAL["packet"] and len(buffer) == 1


def test_a_device_that_comes_back_at_once_is_told_of() -> None:
    buffer = Buffer()
    buffer.add("e1", "10.1.0.2", "lease", MAC, 0.0)
    assert len(buffer.take(0.1)) == 1
    buffer.add("e1", "10.1.0.2", "lease", MAC, 0.5)
    assert not buffer.take(0.6)
    [told] = sightings(buffer.take(1.2), 1.2)
    assert told.age == 0.7


def test_what_could_not_be_told_is_told_again_unless_it_is_old() -> None:
    buffer = Buffer()
    buffer.add("e1", "10.1.0.2", "lease", MAC, 0.0)
    buffer.add("e1", "10.1.0.4", "lease", MAC, 0.0)
    taken = buffer.take(0.1)
    buffer.add("e1", "10.1.0.2", "lease", MAC, 0.5)
    buffer.put_back(taken, 0.6)
    assert {(s.address, s.count) for s in sightings(buffer.take(2.0), 2.0)} == {("10.1.0.2", 2), ("10.1.0.4", 1)}
    buffer.put_back(taken, 2.0)
    assert not buffer.take(KEPT + 1) and buffer.dropped


def test_of_one_address_and_lan_the_lease_is_told() -> None:
    buffer = Buffer()
    buffer.add("e1", "10.1.0.2", "packet", MAC, 0.0)
    buffer.add("e1", "10.1.0.2", "lease", MAC, 0.0)
    assert [key[2] for key, _ in buffer.take(5.0)] == ["lease"]
    assert [key[2] for key, _ in buffer.take(5.0)] == ["packet"]


@given(st.lists(st.tuples(st.integers(0, 2000), st.sampled_from(["lease", "packet"]), st.floats(0, 5)), max_size=300))
def test_the_buffer_is_bounded_and_reports_are(steps: list[tuple[int, str, float]]) -> None:
    buffer, now = Buffer(most=50), 0.0
    for number, how, wait in steps:
        now += wait
        buffer.add("e1", f"10.{number // 256}.{number % 256}.2", how, MAC, now)  # type: ignore[arg-type]
        assert len(buffer) <= 50
        if number % 7 == 0:
            taken = buffer.take(now)
            keys = [key[:2] for key, _ in taken]
            assert len(keys) == len(set(keys)) <= BATCH
            buffer.put_back(taken, now)
            assert len(buffer) <= 50


def test_somebody_else_with_the_same_address_is_told_of_next() -> None:
    buffer = Buffer()
    buffer.add("e1", "10.2.0.2", "packet", MAC, 0.0)
    buffer.add("e1", "10.2.0.2", "packet", "02:00:5e:00:00:66", 0.0)
    assert [key[3] for key, _ in buffer.take(5.0)] == [MAC]
    assert [key[3] for key, _ in buffer.take(5.0)] == ["02:00:5e:00:00:66"]


def test_packets_go_before_leases() -> None:
    buffer = Buffer(most=2)
    buffer.add("e1", "10.1.0.2", "lease", MAC, 0.0)
    buffer.add("e1", "10.1.0.4", "packet", MAC, 0.0)
    buffer.add("e1", "10.1.0.6", "lease", MAC, 0.0)
    assert {key[2] for key, _ in buffer.take(9.0)} == {"lease"} and buffer.dropped == 1


def test_whoever_sees_most_loses_the_oldest() -> None:
    buffer = Buffer(most=4)
    buffer.add("quiet", "10.2.0.1", "packet", "02:00:00:00:00:01", 0)
    for n in range(20):
        buffer.add("loud", f"10.1.0.{n}", "packet", "02:00:00:00:00:02", 1 + n)
    taken = buffer.take(100)
    assert [key[:2] for key, _ in taken] == [("quiet", "10.2.0.1"), *(("loud", f"10.1.0.{n}") for n in (17, 18, 19))]
    buffer.put_back(taken, 100)
    for n in range(20):
        buffer.add("loud", f"10.1.1.{n}", "packet", "02:00:00:00:00:02", 101)
    assert "quiet" in {key[0] for key, _ in buffer.take(200)}
