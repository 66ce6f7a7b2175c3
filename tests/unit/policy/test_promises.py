"""Tests inside a policy pass if it fulfils them, fail with a reason if it does not, and report if they cannot
decide."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controller.core.intent import Cloudlet, Endpoint, Intent, Vcp
from controller.core.neighbour_reports import Current
from controller.core.policy import Policy, parse
from controller.core.promises import Measured, Outcome, Region, Result, alone, run
from controller.wire.flavours import Flavour

POLICY = """\
apiVersion: weft/v1
vcps:
  blue: {members: [a, b, c]}
  red: {members: [c, d]}
  half: {members: [e, f]}
addresses:
  lease_seconds: 900
  lans:
    a:
      lease_seconds: 600
      reservations: {printer: 10.0.0.8, wall: 10.0.1.8}
      exclusions: [10.0.0.100-10.0.0.119]
access:
  blue:
    - {name: web, action: accept, to: [b], protocols: [tcp], ports: [443]}
    - {name: slow, action: rate-limit, rate_kbps: 100, to: [b], protocols: [udp]}
    - {name: closed, action: drop, to: [b]}
  half:
    - {name: mute, action: drop, from: [f], to: [e]}
proximity:
  sites: {c3: {coverage_m: 0, walking_speed: 1}}
tests:
"""
NAMES = "abcdef"


def inventory(policy: Policy) -> Region:
    places = [(45.0, 7.0), (45.009, 7.0), (45.05, 7.0)]
    cloudlets = {
        f"c{i}": Cloudlet(f"c{i}", Flavour.VPLS, f"192.0.2.{i}", latitude=lat, longitude=lon)
        for i, (lat, lon) in enumerate(places)
    } | {f"c{i}": Cloudlet(f"c{i}", Flavour.VPLS, f"192.0.2.{i}") for i in range(3, 6)}
    endpoints = {n: Endpoint(n, f"c{i}", i + 1, 1, f"10.0.{i}.0/24", "") for i, n in enumerate(NAMES)}
    endpoints["a"] = replace(endpoints["a"], prefix6="2001:db8:a::/64")
    pools = {n: Vcp(n, members=frozenset(v.members)) for n, v in policy.rules.vcps.items()}
    intent = Intent(cloudlets=cloudlets, endpoints=endpoints, vcps=pools, policy=policy.rules)
    words = {
        ("c0", "c2"): word(60.0),
        ("c0", "c4"): word(400.0),
        ("c4", "c0"): word(10.0),
        ("c1", "c2"): word(160.0),
        ("c2", "c1"): word(160.0, possible=False),
        ("c0", "c3"): word(10.0, loss=0.1),
        ("c3", "c0"): word(10.0, loss=0.3),
        ("c1", "c3"): word(10.0, age=200),
        ("c3", "c1"): word(20.0),
        ("c1", "c4"): word(None, loss=0.1, possible=False),
        ("c4", "c1"): word(10.0),
        ("c2", "c3"): word(10.0),
        ("c3", "c2"): word(900.0, age=200),
    }
    return Region(intent, Measured(AT, words))


AT = datetime(2026, 11, 24, 12, tzinfo=UTC)


def word(median: float | None, *, loss: float = 0.0, possible: bool = True, age: float = 20.0) -> Current:
    """Return one cloudlet's last measurement of another, `age` seconds old."""
    at = AT - timedelta(seconds=age)
    times = median, median, median, 0.0
    return Current(at, at + timedelta(seconds=180), "icmp", 5, 5, *times, loss=loss, possible=possible, since=at)


def one(test: str, offline: bool = False) -> Result:
    policy = parse(f"{POLICY}  - {test}\n", "p.yaml")
    (result,) = run(policy, alone(policy.rules) if offline else inventory(policy))
    assert result.said.line >= POLICY.count("\n") + 1 and result.said.file == "p.yaml"
    return result


P, F, W, S = Outcome.PASSED, Outcome.FAILED, Outcome.WRONG, Outcome.SKIPPED


@pytest.mark.parametrize(
    ("test", "outcome", "why"),
    [
        ("reachable: {from: a, to: c}", P, "a to c: both are in blue; no rule of blue is against"),
        ("reachable: {from: a, to: d}", F, "a to d: they share no pool (a is in blue, d is in red)"),
        ("isolated: {from: a, to: d}", P, "they share no pool"),
        ("isolated: {from: a, to: c}", F, "both are in blue"),
        ("reachable: {from: a, to: b}", P, "lets "),
        (
            "reachable: {from: a, to: b, protocol: tcp, port: 443}",
            P,
            "rule 'web' of blue lets tcp to port 443 pass (accept)",
        ),
        ("reachable: {from: a, to: b, protocol: tcp, port: 80}", F, "rule 'closed' of blue drops it"),
        ("isolated: {from: a, to: b, protocol: tcp, port: 80}", P, "rule 'closed' of blue drops it"),
        ("isolated: {from: a, to: b, protocol: tcp}", F, "rule 'web' of blue"),
        ("isolated: {from: a, to: b, protocol: icmp}", P, "rule 'closed'"),
        ("isolated: {from: a, to: b, protocol: 89}", P, "rule 'closed'"),
        (
            "reachable: {from: a, to: b, protocol: udp, port: 7}",
            P,
            "rule 'slow' of blue lets udp to port 7 pass (rate-limit)",
        ),
        ("reachable: {from: b, to: a, protocol: tcp, port: 22}", F, "answers do not get back: rule 'closed' of blue"),
        ("reachable: {from: b, to: a, protocol: udp, port: 22}", P, "no rule of blue is against udp to port 22"),
        ("reachable: {from: e, to: f, protocol: tcp}", F, "rule 'mute' of half drops tcp to port 32768"),
        ("reachable: {from: e, to: f}", P, "both are in half"),
        ("reachable: {from: [a, c], to: [a, c]}", P, "both are in blue"),
        ("reachable: {from: [a, c], to: d}", F, "a to d"),
        ("isolated: {from: [a, b], to: d}", P, "b to d"),
        ("isolated: {from: [a, d], to: [a, d]}", P, "d to a: they share no pool"),
        ("reachable: {from: a, to: q}", W, "there is no endpoint 'q'"),
        (
            "address: {lan: a, device: printer, md: 10.0.0.8, vm: 10.0.0.9, lease_seconds: 600}",
            P,
            "reserved for printer",
        ),
        ("address: {lan: a, device: printer, md: 10.0.0.10}", F, "reserved for printer on a"),
        ("address: {lan: a, device: wall, vm: 10.0.1.9}", F, "10.0.1.8 is not in 10.0.0.0/24"),
        ("address: {lan: b, md: 10.0.1.2, vm: 10.0.1.3}", P, ""),
        ("address: {lan: b, md: 10.0.1.254, vm: 10.0.1.255}", F, "the reserved address"),
        ("address: {lan: b, md: 10.0.1.3, vm: 10.0.1.4}", F, "is odd"),
        ("address: {lan: b, lease_seconds: 900}", P, ""),
        ("address: {lan: a, md: 10.0.0.110, excluded: true}", P, ""),
        ("address: {lan: a, md: 10.0.0.120, excluded: true}", F, ""),
        ("address: {lan: q, lease_seconds: 900}", W, "there is no endpoint 'q'"),
        ("address: {lan: q, prefix: 10.9.0.0/24, md: 10.9.0.2, vm: 10.9.0.3}", P, ""),
        ("address: {lan: q, prefix: 10.9.0.1/24, md: 10.9.0.2, vm: 10.9.0.3}", W, "has host bits set"),
        ("address: {lan: a, device: printer, md6: '2001:db8:a::8', vm6: '2001:DB8:A:0::9'}", P, ""),
        ("address: {lan: a, md: 10.0.0.2, vm6: '2001:db8:a::5'}", F, ""),
        ("address: {lan: b, md: 10.0.1.2, vm6: '2001:db8:a::5'}", F, ""),
        ("address: {lan: q, prefix: 10.9.0.0/24, prefix6: '2001:db8::/64', md: 10.9.0.2, vm6: '2001:db8::3'}", P, ""),
        ("address: {lan: q, prefix: 10.9.0.0/24, prefix6: '2001:db8::/125', md: 10.9.0.6, vm: 10.9.0.7}", F, "beyond"),
        (
            "address: {lan: q, prefix: 10.9.0.0/24, prefix6: '2001:db8::1/64', md: 10.9.0.4, vm: 10.9.0.5}",
            W,
            "host bits",
        ),
        ("address: {lan: q, prefix: 10.9.0.0/24, md: 10.9.0.2, vm6: '2001:db8::3'}", S, "give them as 'prefix' and"),
        ("neighbour: {from: c0, to: c1, is: near}", P, "1000 m apart; near is up to 1036 m"),
        ("neighbour: {from: c0, to: c2, is: near}", F, "5557 m apart"),
        ("neighbour: {from: c0, to: c2, is: possible}", P, "RTT 60 ms"),
        ("neighbour: {from: c2, to: c0, is: possible}", P, "RTT 60 ms"),
        ("neighbour: {from: c0, to: c4, is: possible}", F, "RTT 400 ms"),
        ("neighbour: {from: c0, to: c4, is: not}", P, "RTT 400 ms"),
        ("neighbour: {from: c4, to: c0, is: possible}", F, "RTT 400 ms"),
        ("neighbour: {from: c1, to: c2, is: possible}", P, "RTT 160 ms, loss 0; 180 ms keep"),
        ("neighbour: {from: c2, to: c1, is: not}", P, "RTT 160 ms, loss 0; under 150 ms make"),
        ("neighbour: {from: c1, to: c2, possible_before: false, is: not}", P, "under 150 ms make"),
        ("neighbour: {from: c0, to: c3, is: possible}", F, "RTT 10 ms, loss 0.3;"),
        ("neighbour: {from: c0, to: c3, loss: 0.2, is: possible}", P, "RTT 10 ms, loss 0.2;"),
        ("neighbour: {from: c1, to: c3, is: stale}", P, "not heard of for 200 s, and a report holds for 180 s"),
        ("neighbour: {from: c1, to: c3, is: not}", F, "not heard of for 200 s"),
        ("neighbour: {from: c1, to: c3, age_seconds: 30, is: possible}", P, "RTT 20 ms"),
        ("neighbour: {from: c3, to: c1, is: possible}", P, "RTT 20 ms"),
        ("neighbour: {from: c3, to: c1, age_seconds: 181, is: stale}", P, "not heard of for 181 s"),
        ("neighbour: {from: c2, to: c3, is: possible}", P, "RTT 10 ms"),
        ("neighbour: {from: c1, to: c4, is: possible}", F, "no answer, loss 0.1"),
        ("neighbour: {from: c4, to: c1, is: possible}", P, "RTT 10 ms, loss 0.1"),
        ("neighbour: {from: c0, to: c2, distance_m: 1037, is: not}", P, "1037 m apart"),
        ("neighbour: {from: c0, from_at: [45.05, 7], to: c3, to_at: [45, 7], is: not}", P, "5557 m apart"),
        ("neighbour: {from: c0, to: c1, is: possible}", F, "nothing was measured between c0 and c1; 1000 m apart"),
        ("neighbour: {from: c0, to: c1, is: not}", F, "nothing was measured between c0 and c1; 1000 m apart"),
        ("neighbour: {from: c0, to: c5, is: near}", F, "nobody said where c5 is"),
        ("neighbour: {from: c0, to: c9, is: near}", W, "there is no cloudlet 'c9'"),
        ("neighbour: {distance_m: 1036, is: near}", P, "up to 1036 m"),
        ("neighbour: {distance_m: 1037, is: not}", P, "up to 1036 m"),
        ("neighbour: {from: c3, to: x, distance_m: 781, is: near}", F, "up to 780 m"),
        ("neighbour: {from_at: [45, 7], to_at: [45.009, 7], is: near}", P, "1000 m apart"),
        ("neighbour: {rtt_ms: 149, is: possible}", P, "under 150 ms make"),
        ("neighbour: {rtt_ms: 160, is: possible}", F, "under 150 ms make"),
        ("neighbour: {rtt_ms: 160, possible_before: true, is: possible}", P, "180 ms keep"),
        ("neighbour: {rtt_ms: 10, loss: 0.5, is: not}", P, "with loss up to 0.2"),
        ("neighbour: {rtt_ms: 10, age_seconds: 181, is: stale}", P, "a report holds for 180 s"),
        ("neighbour: {rtt_ms: 10, age_seconds: 180, is: possible}", P, "RTT 10 ms"),
        ("move: {rtt_ms: 100, is: move}", P, "below 150 ms"),
        ("move: {rtt_ms: 500, migration_seconds: 30, is: move}", F, "a new VM takes 20 s"),
        ("move: {rtt_ms: 500, migration_seconds: 30, initiation_seconds: 40, is: move}", P, "a new VM takes 40 s"),
        ("move: {rtt_ms: 10, neighbour: stale, is: synthesise}", P, "stale"),
        ("move: {rtt_ms: 20, profile: {memory_mb: 512}, is: move}", P, "the RTT during the move, 120 ms, is below"),
        (
            "move: {rtt_ms: 20, profile: {memory_mb: 512}, is: stay}",
            F,
            "at 12.5 MB/s it is copied in 44.6 s and 2 rounds",
        ),
        ("move: {rtt_ms: 60, profile: {memory_mb: 512}, is: synthesise}", P, "the move takes 44.9"),
        (
            "move: {rtt_ms: 60, profile: {memory_mb: 192, bandwidth_mbps: 300}, is: move}",
            P,
            "during the move, 111.848 ms, is below",
        ),
        ("move: {rtt_ms: 60, profile: {memory_mb: 9, disk_mb: 300}, is: synthesise}", P, "the move takes 25"),
        (
            "move: {rtt_ms: 60, profile: {memory_mb: 512, dirty_mb_per_second: 40}, is: synthesise}",
            P,
            "slowed down by 80 %",
        ),
        ("move: {rtt_ms: 60, profile: {memory_mb: 512, dirty_mb_per_second: 1e6}, is: synthesise}", P, "never comes"),
        ("move: {rtt_ms: 1001, profile: {memory_mb: 9}, is: synthesise}", P, "above 1000 ms"),
        ("move: {rtt_ms: 2000, can_synthesise: false, is: stay}", P, "above 1000 ms"),
    ],
)
def test_what_comes_out(test: str, outcome: Outcome, why: str) -> None:
    result = one(test)
    assert result.outcome is outcome, result
    assert why in "; ".join(result.why), result.why
    assert result.refuses == (outcome in (F, W))
    assert (result.expected == result.got) == (outcome is P) or outcome in (W, S)


@pytest.mark.parametrize(
    ("test", "outcome", "why"),
    [
        ("reachable: {from: a, to: c}", P, "both are in blue"),
        ("isolated: {from: a, to: d}", P, "they share no pool"),
        ("isolated: {from: a, to: q}", S, "puts q into no pool: only the inventory shows whether it exists"),
        ("address: {lan: a, device: printer, md: 10.0.0.8, vm: 10.0.0.9}", P, ""),
        ("address: {lan: a, md: 10.0.0.2, vm: 10.0.0.3}", S, "give it as 'prefix'"),
        ("address: {lan: a, prefix: 10.0.0.0/24, md: 10.0.0.2, vm: 10.0.0.3}", P, ""),
        ("address: {lan: a, md: 10.0.0.110, excluded: true}", P, ""),
        ("address: {lan: a, device: printer, vm6: '2001:db8:a::9'}", S, "give them as 'prefix' and 'prefix6'"),
        ("neighbour: {from: c0, to: c1, is: near}", S, "the policy does not contain the place of c0"),
        ("neighbour: {from: c0, to: c1, is: possible}", S, "give it as 'rtt_ms'"),
        ("neighbour: {from: c0, to: c1, distance_m: 5, is: near}", P, ""),
        ("move: {rtt_ms: 100, is: move}", P, ""),
    ],
)
def test_what_can_be_told_without_an_inventory(test: str, outcome: Outcome, why: str) -> None:
    result = one(test, offline=True)
    assert result.outcome is outcome and why in "; ".join(result.why), result


def test_pools_by_label_or_distance_need_the_inventory() -> None:
    for rule in ("{select: {city: turin}}", "{automatic: proximity}"):
        text = f"apiVersion: weft/v1\nvcps: {{town: {rule}, blue: {{members: [a, b]}}}}\ntests:\n"
        policy = parse(text + "  - reachable: {from: a, to: b}\n", "p.yaml")
        (result,) = run(policy, alone(policy.rules))
        assert result.outcome is S and "the members of town follow from the inventory alone" in result.why[0]


def test_only_the_first_wrong_tests_have_suggestions() -> None:
    tests = "".join(f"  - reachable: {{from: a, to: bb{n}}}\n" for n in range(20))
    policy = parse(POLICY + tests, "p.yaml")
    results = run(policy, inventory(policy))
    assert [result.outcome for result in results] == [W] * 20
    assert ["known are a, b" in result.said.message for result in results] == [True] * 10 + [False] * 10


def test_failures_have_their_place_and_suggestion() -> None:
    failed = one("{name: shut, isolated: {from: a, to: c}}")
    assert (failed.said.line, failed.said.column, failed.said.field) == (23, 5, "tests[0]")
    assert failed.said.message.startswith(
        "test 'shut' failed: expected isolated, got reachable (a to c: both are in blue;"
    )
    wrong = one("neighbour: {from: c0, to: c11, is: near}")
    assert (wrong.said.column, wrong.said.field) == (31, "tests[0].neighbour.to")
    assert "there is no cloudlet 'c11'" in wrong.said.message
