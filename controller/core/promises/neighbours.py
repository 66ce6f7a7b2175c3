"""`neighbour`: what two cloudlets are to each other, by distance or by what was measured."""

from controller.core.neighbours import Standing, judge, lifetime
from controller.core.policy.model import Rules
from controller.core.policy.promises import Coordinates, NeighbourTest
from controller.core.promises.region import Finding, Region, Unknown
from controller.core.proximity.geodesic import Place, metres
from controller.core.proximity.reach import limit


def prove(test: NeighbourTest, region: Region) -> Finding:
    """By what was measured, where that is given or known and `near` is not the question; else by distance."""
    cloudlets = region.intent.cloudlets
    for key, name, at in (("from", test.source, test.source_at), ("to", test.destination, test.destination_at)):
        if name is not None and at is None and test.distance_m is None and test.rtt_ms is None:
            region.must_have("cloudlet", name, cloudlets, ("neighbour", key))
    if test.expect != "near" and (rtt := _rtt(test, region)) is not None:
        got, why = _measured(test, region.intent.policy, rtt)
    else:
        got, why = _by_distance(test, region)
    return Finding(got == test.expect, test.expect, got, (why,))


def _rtt(test: NeighbourTest, region: Region) -> float | None:
    if test.rtt_ms is not None or test.source is None or test.destination is None:
        return test.rtt_ms
    one, other = test.source, test.destination
    found = region.medians.get(one, {}).get(other, region.medians.get(other, {}).get(one))
    if found is None and test.expect != "not" and not region.known:
        raise Unknown(f"the RTT between {one} and {other} only the inventory knows: give it as 'rtt_ms'")
    return found


def _measured(test: NeighbourTest, rules: Rules, rtt: float) -> tuple[str, str]:
    policy, lasts = rules.neighbours, lifetime(rules.neighbours).total_seconds()
    if test.age_seconds > lasts:
        return "stale", f"not heard of for {test.age_seconds:g} s, and a report holds for {lasts:g} s"
    before = Standing(True, test.loss) if test.possible_before else None
    possible = judge(policy, before, rtt, test.loss).possible
    limits = f"{policy.keep_rtt_ms:g} ms keep" if test.possible_before else f"under {policy.rtt_ms:g} ms make"
    why = f"RTT {rtt:g} ms, loss {test.loss:g}; {limits} a possible neighbour, with loss up to {policy.max_loss:g}"
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


def _place(name: str | None, at: Coordinates | None, region: Region) -> Place | None:
    if at is not None:
        return Place(*at)
    if name is None or not region.known:
        raise Unknown(f"where {name or 'the other one'} is only the inventory knows: give it as 'from_at' and 'to_at'")
    cloudlet = region.intent.cloudlets[name]
    if cloudlet.latitude is None or cloudlet.longitude is None:
        return None
    return Place(cloudlet.latitude, cloudlet.longitude)
