"""`neighbour`: the relation of two cloudlets, by distance or by measurements."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.core.neighbour_reports import Pair
from controller.core.neighbours import Standing, judge, lifetime
from controller.core.policy.model import Rules
from controller.core.policy.promises import Coordinates, NeighbourTest, PolicyTest
from controller.core.promises.region import Finding, Region, Unknown
from controller.core.proximity.geodesic import Position, metres
from controller.core.proximity.reach import limit


@dataclass(frozen=True)
class Facts:
    """Measured values. `rtt_ms` None: no echo came back; `loss` from 0 to 1; the values are valid for
    `holds_seconds`."""

    rtt_ms: float | None
    loss: float
    possible_before: bool
    age_seconds: float
    holds_seconds: float


def pairs(tests: Iterable[PolicyTest]) -> set[Pair]:
    """Return the pairs whose measurements the tests need from the region: the measuring cloudlet, and the measured
    one."""
    return {
        pair
        for test in tests
        if isinstance(test, NeighbourTest) and test.asks
        for pair in ((test.source or "", test.destination or ""), (test.destination or "", test.source or ""))
    }


def prove(test: NeighbourTest, region: Region) -> Finding:
    """Check the relation: by measurements, if they are given or known and the test does not ask for `near`; otherwise
    by distance."""
    cloudlets = region.intent.cloudlets
    for key, name, at in (("from", test.source, test.source_at), ("to", test.destination, test.destination_at)):
        if name is not None and at is None and test.distance_m is None and test.rtt_ms is None:
            region.must_have("cloudlet", name, cloudlets, ("neighbour", key))
    if test.expect != "near" and (facts := _facts(test, region)) is not None:
        got, why = _measured(facts, region.intent.policy)
    else:
        got, why = _by_distance(test, region)
        if test.asks:
            why = f"nothing was measured between {test.source} and {test.destination}; {why}"
    return Finding(got == test.expect, test.expect, got, (why,))


def _facts(test: NeighbourTest, region: Region) -> Facts | None:
    """Return the values of the test, completed by those of the region: the measurements of `from`, if it has any, with
    the longer RTT and the greater loss if the other side's are fresh, too. None if there are none."""
    holds = lifetime(region.intent.policy.neighbours).total_seconds()
    if test.rtt_ms is not None:
        before = test.possible_before or False
        return Facts(test.rtt_ms, test.loss or 0.0, before, test.age_seconds or 0.0, holds)
    if not test.asks:
        return None
    one, other = test.source or "", test.destination or ""
    at, known = region.measured.at, region.measured.words
    words = [known[pair] for pair in ((one, other), (other, one)) if pair in known]
    if not words:
        if test.expect != "not" and not region.known:
            raise Unknown(f"the policy does not contain the RTT between {one} and {other}: give it as 'rtt_ms'")
        return None
    own = words[0]
    fresh = [own, *(word for word in words[1:] if word.fresh_until > at)]
    age, held = (at - own.at).total_seconds(), (own.fresh_until - own.at).total_seconds()
    return Facts(
        None if own.median_ms is None else max(word.median_ms for word in fresh if word.median_ms is not None),
        max(word.loss for word in fresh) if test.loss is None else test.loss,
        own.possible if test.possible_before is None else test.possible_before,
        *((age, held) if test.age_seconds is None else (test.age_seconds, holds)),
    )


def _measured(facts: Facts, rules: Rules) -> tuple[str, str]:
    """Return the relation by measurements, as `rules` judge them, and the reason; `loss` is smoothed already."""
    policy = rules.neighbours
    if facts.age_seconds > facts.holds_seconds:
        return "stale", f"not heard of for {facts.age_seconds:.6g} s, and a report holds for {facts.holds_seconds:g} s"
    before = Standing(True, facts.loss) if facts.possible_before else None
    possible = judge(policy, before, facts.rtt_ms, facts.loss).possible
    rtt = "no answer" if facts.rtt_ms is None else f"RTT {facts.rtt_ms:g} ms"
    limits = f"{policy.keep_rtt_ms:g} ms keep" if facts.possible_before else f"under {policy.rtt_ms:g} ms make"
    why = f"{rtt}, loss {facts.loss:.6g}; {limits} a possible neighbour, with loss up to {policy.max_loss:g}"
    return "possible" if possible else "not", why


def _by_distance(test: NeighbourTest, region: Region) -> tuple[str, str]:
    distance = test.distance_m
    if distance is None:
        one = _place(test.source, test.source_at, region)
        other = _place(test.destination, test.destination_at, region)
        if one is None or other is None:
            nowhere = test.source if one is None else test.destination
            return "not", f"nobody said where {nowhere} is"
        distance = metres(one, other)
    most = limit(region.intent.policy.proximity, test.source or "", test.destination or "")
    return ("near" if distance <= most else "not"), f"{distance:.0f} m apart; near is up to {most:.0f} m"


def _place(name: str | None, at: Coordinates | None, region: Region) -> Position | None:
    if at is not None:
        return Position(*at)
    if name is None or not region.known:
        raise Unknown(
            f"the policy does not contain the place of {name or 'the other one'}: give it as 'from_at' and 'to_at'"
        )
    cloudlet = region.intent.cloudlets[name]
    if cloudlet.latitude is None or cloudlet.longitude is None:
        return None
    return Position(cloudlet.latitude, cloudlet.longitude)
