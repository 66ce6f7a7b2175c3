"""`reachable` and `isolated`: whether anything gets from one endpoint to another, by pools and by access rules."""

from collections.abc import Iterator

from controller.core.access import OTHER, WITH_PORTS, Flow, Verdict, classes, judge, rules_of
from controller.core.intent import Intent
from controller.core.policy.document import Path
from controller.core.policy.promises import PathTest
from controller.core.promises.region import Absent, Finding, Region, Unknown

ANSWERS = (32768, 65535)
"""Ports that answers go to: those that operating systems choose from for the near end of a connection."""


def prove(test: PathTest, region: Region) -> Finding:
    """Every source to every other destination; the first that breaks the promise is told."""
    kind = "reachable" if test.reachable else "isolated"
    for key, names in (("from", test.sources), ("to", test.destinations)):
        for i, name in enumerate(names):
            path: Path = (kind, key, i) if len(names) > 1 else (kind, key)
            region.must_have("endpoint", name, region.intent.endpoints, path)
    pairs = [(a, b) for a in test.sources for b in test.destinations if a != b]
    if not pairs:
        raise Absent((kind,), "nothing to look at: nothing goes from an endpoint to itself")
    if not region.known:
        _told(region.intent, test)
    finding = Finding(True, kind, kind)
    for source, destination in pairs:
        finding = _pair(test, region.intent, source, destination)
        if not finding.passed:
            return finding
    return finding


def _told(intent: Intent, test: PathTest) -> None:
    """Whether the policy's own words are enough."""
    for vcp in intent.policy.vcps.values():
        if vcp.automatic or vcp.select is not None:
            raise Unknown(f"who is in {vcp.name} only the inventory knows")
    for name in (*test.sources, *test.destinations):
        if name not in intent.pools_of:
            raise Unknown(f"this policy puts {name} into no pool: whether it exists only the inventory knows")


def _pair(test: PathTest, intent: Intent, source: str, destination: str) -> Finding:
    expected = "reachable" if test.reachable else "isolated"
    way = f"{source} to {destination}"
    verdicts = [(flow, judge(intent, flow)) for flow in _flows(intent, source, destination, test.protocol, test.port)]
    through = next(((flow, verdict) for flow, verdict in verdicts if verdict.passes), None)
    if through is None:
        why = _why_not(intent, source, destination, verdicts)
        return Finding(not test.reachable, expected, "isolated", (f"{way}: {why}",))
    passing = f"{way}: {_why(*through)}"
    if test.reachable and test.protocol == "tcp":
        for flow in _flows(intent, destination, source, "tcp", None):
            back = judge(intent, flow)
            if flow.port is not None and flow.port >= ANSWERS[0] and not back.passes:
                said = f"answers do not get back: {_dropped(back)} drops {_traffic(flow)}"
                return Finding(False, expected, "half reachable", (passing, said))
    return Finding(test.reachable, expected, "reachable", (passing,))


def _flows(intent: Intent, source: str, destination: str, protocol: str | None, port: int | None) -> Iterator[Flow]:
    """One flow for each kind of traffic that the rules tell from others, as far as the test is about it."""
    none: frozenset[str] = frozenset()
    shared = intent.pools_of.get(source, none) & intent.pools_of.get(destination, none)
    kinds = list(classes(rule for vcp in shared for rule in rules_of(intent, vcp)))
    kinds += [(each, (ANSWERS[0], ANSWERS[1])) for each in WITH_PORTS]
    named = {each for each, _ in kinds}
    for each, ports in kinds:
        if protocol is not None and each != (protocol if protocol in named else OTHER):
            continue
        if port is None or ports is None:
            yield Flow(source, destination, each, None if ports is None else ports[0])
        elif ports[0] <= port <= ports[1]:
            yield Flow(source, destination, each, port)


def _why(flow: Flow, verdict: Verdict) -> str:
    said = [
        f"rule '{ruling.rule.name}' of {ruling.vcp} lets {_traffic(flow)} pass ({ruling.rule.action})"
        if ruling.rule
        else f"no rule of {ruling.vcp} is against {_traffic(flow)}"
        for ruling in verdict.rulings
    ]
    pools = " and ".join(ruling.vcp for ruling in verdict.rulings)
    return f"both are in {pools}; {', '.join(said)}"


def _why_not(intent: Intent, source: str, destination: str, verdicts: list[tuple[Flow, Verdict]]) -> str:
    if not any(verdict.rulings for _, verdict in verdicts):
        where = (
            f"{name} is in {', '.join(sorted(intent.pools_of.get(name, ()))) or 'none'}"
            for name in (source, destination)
        )
        return f"they share no pool ({', '.join(where)})"
    found = sorted({_dropped(verdict) for _, verdict in verdicts})
    return f"{', '.join(found)} {'drops' if len(found) == 1 else 'drop'} it"


def _dropped(verdict: Verdict) -> str:
    for ruling in verdict.rulings:
        if ruling.drops and ruling.rule is not None:
            return f"rule '{ruling.rule.name}' of {ruling.vcp}"
    return "the lack of a common pool"


def _traffic(flow: Flow) -> str:
    if flow.protocol == OTHER:
        return "other protocols"
    name = flow.protocol if not flow.protocol.isdigit() else f"protocol {flow.protocol}"
    return name if flow.port is None else f"{name} to port {flow.port}"
