"""The parts without a network: the order of the probes, the result of a round, the kept results, and packets in their
wire format."""

from collections import Counter, defaultdict
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.neighbours import clocks, icmp, stamp
from agents.neighbours.buffer import Buffer
from agents.neighbours.clocks import Moment, milliseconds
from agents.neighbours.samples import Round, summary
from agents.neighbours.schedule import URGENT_GAP, Ring


def rounds(ring: Ring, until: float) -> list[tuple[float, str, bool]]:
    """Return the time and neighbour of each round, if every round is on time."""
    seen = []
    while (due := ring.next()) is not None and due < until:
        seen.append((due, *ring.pop(due)))
    return seen


@settings(max_examples=40)
@given(st.integers(1, 300), st.sampled_from([1.0, 10.0, 60.0]), st.integers(0, 2**32))
def test_everybody_has_a_round_in_every_interval_and_they_are_spread_evenly(
    count: int, interval: float, seed: int
) -> None:
    ring, start = Ring(Random(seed).random), 1000.0
    names = [f"c{n}" for n in range(count)]
    ring.update(names, interval, start)
    seen = rounds(ring, start + 60 + 10 * interval)
    first = [entry for entry in seen if entry[2]]
    assert sorted(name for _, name, _ in first) == sorted(names), "who was announced is probed once before its turn"
    assert all(b[0] - a[0] >= URGENT_GAP - 1e-6 for a, b in pairwise(first))
    assert first[-1][0] <= start + 1 + URGENT_GAP * count
    turns = [(at, name) for at, name, urgent in seen if not urgent and at > first[-1][0] + interval]
    by_name = defaultdict(list)
    for at, name in turns:
        by_name[name].append(at)
    assert len(by_name) == count
    for times in by_name.values():
        for one, other in pairwise(times):
            assert 0.85 * interval <= other - one <= 1.15 * interval
    gap = interval / count
    for (one, _), (other, _) in pairwise(turns):
        assert other - one <= 1.5 * gap + 1e-6, "no pause"
    slots = Counter(int((at - turns[0][0]) / (4 * gap)) for at, _ in turns)
    assert max(slots.values()) <= 5, "and no crowd: four are due in the time of four turns"


@given(st.lists(st.sets(st.integers(0, 20)), min_size=1, max_size=15), st.integers(0, 2**32))
def test_a_new_one_is_probed_at_once_and_those_that_stay_are_not_probed_anew(sets: list[set[int]], seed: int) -> None:
    ring, now = Ring(Random(seed).random), 0.0
    known: set[str] = set()
    for numbers in sets:
        names = {f"c{n}" for n in numbers}
        ring.update(names, 60.0, now)
        assert len(ring) == len(names)
        seen = rounds(ring, now + 1 + URGENT_GAP * 21)
        urgent = [name for _, name, first in seen if first]
        assert sorted(urgent) == sorted(names - known) and {name for _, name, _ in seen} <= names
        known, now = names, now + 10


def test_agents_that_start_together_are_out_of_step() -> None:
    starts = []
    for seed in range(200):
        ring = Ring(Random(seed).random)
        ring.update(["c1"], 60.0, 0.0)
        starts.append([at for at, _, _ in rounds(ring, 200.0)])
    assert max(Counter(int(times[0] * 20) for times in starts).values()) < 30
    assert max(Counter(int(times[2]) for times in starts).values()) < 30


def test_a_machine_that_slept_does_not_make_up_for_it() -> None:
    ring = Ring(Random(1).random)
    ring.update([f"c{n}" for n in range(10)], 60.0, 0.0)
    rounds(ring, 100.0)
    at, seen = 4000.0, 0
    while (due := ring.next()) is not None and due < at + 60:
        ring.pop(max(due, at))
        seen += 1
    assert seen <= 12


@given(st.lists(st.none() | st.floats(0.001, 10_000), min_size=1, max_size=30))
def test_a_round_says_what_came_back(samples: list[float | None]) -> None:
    back = [s for s in samples if s is not None]
    found = summary("icmp", samples)
    assert (found.sent, found.received) == (len(samples), len(back))
    if not back:
        assert (found.min_ms, found.median_ms, found.p95_ms, found.jitter_ms) == (None,) * 4
        return
    assert found.min_ms is not None and found.median_ms is not None and found.p95_ms is not None
    assert found.min_ms <= found.median_ms <= found.p95_ms
    assert found.min_ms == round(min(back), 3) and found.p95_ms <= round(max(back), 3)
    assert found.jitter_ms is not None and 0 <= found.jitter_ms <= max(back) - min(back) + 0.001


def test_a_round_in_figures() -> None:
    assert summary("udp", [10.0, None, 12.0, 11.0]) == Round("udp", 4, 3, 10.0, 11.0, 12.0, 1.5)


@given(st.lists(st.sampled_from(["add", "send", "lost"]), max_size=200), st.integers(1, 20))
def test_nothing_is_lost_or_doubled_on_the_way_and_what_is_dropped_is_counted(steps: list[str], most: int) -> None:
    buffer, added, taken = Buffer(most), 0, []
    for step in steps:
        if step == "add":
            buffer.add(f"c{added}", float(added), Round("icmp", 5, 0))
            added += 1
            continue
        batch = buffer.batch(1000.0, 3)
        assert [m.age for m in batch] == [1000.0 - m.number for m in batch]
        if step == "send" and batch:
            taken += [m.number for m in batch]
            buffer.acknowledge(batch[-1].number)
    assert len(buffer) <= most and taken == sorted(set(taken))
    assert added == len(taken) + len(buffer) + buffer.dropped
    assert [m.number for m in buffer.batch(1000.0)] == list(range(added - len(buffer), added))


def test_stamp_packets_are_as_rfc_8762_has_them() -> None:
    sent = stamp.request(7, 1_000_000_000.25)
    assert len(sent) == 44 and sent[:4] == b"\0\0\0\7" and sent[14:] == bytes(30)
    assert int.from_bytes(sent[4:8]) == 1_000_000_000 + 2_208_988_800 and sent[8:12] == b"\x40\0\0\0"
    back = stamp.reply(sent, 1_000_000_010.5, 1_000_000_010.75, 64)
    assert back is not None and len(back) == len(sent)
    assert back[24:38] == sent[:14] and back[40] == 64, "what the sender said, and how far it came"
    assert back[16:20] == (1_000_000_010 + 2_208_988_800).to_bytes(4) and back[20:24] == b"\x80\0\0\0"
    number, took = stamp.answer(back) or (0, 0.0)
    assert number == 7 and took == pytest.approx(250.0)


@given(st.binary(max_size=100))
def test_no_packet_is_answered_with_more_than_it_was(packet: bytes) -> None:
    back = stamp.reply(packet, 1.0, 2.0, 64)
    assert back is None or len(back) <= len(packet)
    stamp.answer(packet)


@given(st.binary(max_size=99))
def test_what_carries_its_checksum_sums_up_to_nothing(data: bytes) -> None:
    padded = data + b"\0" * (len(data) % 2)
    assert icmp.checksum(padded + icmp.checksum(padded).to_bytes(2)) == 0


def test_the_kernels_word_counts_unless_the_clock_was_set() -> None:
    sent, read = Moment(10.0, 1000.0), Moment(10.5, 1000.5)
    assert milliseconds(sent, Moment(10.1, 1000.1), read) == pytest.approx(100)
    assert milliseconds(sent, Moment(9.0, 999.0), read) == pytest.approx(500), "before it was asked for"
    assert milliseconds(sent, Moment(11.0, 1001.0), read) == pytest.approx(500), "after it was read"
    assert clocks.arrival([]).monotonic > 0
