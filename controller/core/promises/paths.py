"""`reachable` and `isolated`: whether anything gets from one endpoint to another, by pools and by access rules."""

from controller.core.access import ANSWERS, OTHER, Flow, Verdict, flows, judge
from controller.core.intent import Intent
from controller.core.policy.promises import PathTest
from controller.core.promises.region import Absent, Finding, Region, Unknown
from controller.core.yaml_document.document import Path


def prove(test: PathTest, region: Region) -> Finding:
    """Check every source to every other destination; report the first pair that breaks the promise."""
    kind = "reachable" if test.reachable else "isolated"
    for key, names in (("from", test.sources), ("to", test.destinations)):
        for i, name in enumerate(names):
            path: Path = (kind, key, i) if len(names) > 1 else (kind, key)
            region.must_have("endpoint", name, region.intent.endpoints, path)
    pairs = [(a, b) for a in test.sources for b in test.destinations if a != b]
    if not pairs:
        raise Absent((kind,), "there is no path from an endpoint to itself")
    if not region.known:
        _told(region.intent, test)
    finding = Finding(True, kind, kind)
    for source, destination in pairs:
        finding = _pair(test, region.intent, source, destination)
        if not finding.passed:
            return finding
    return finding


def _told(intent: Intent, test: PathTest) -> None:
    """Raise Unknown if the policy alone is not enough."""
    for vcp in intent.policy.vcps.values():
        if vcp.automatic or vcp.select is not None:
            raise Unknown(f"the members of {vcp.name} follow from the inventory alone")
    for name in (*test.sources, *test.destinations):
        if name not in intent.pools_of:
            raise Unknown(f"this policy puts {name} into no pool: only the inventory shows whether it exists")


def _pair(test: PathTest, intent: Intent, source: str, destination: str) -> Finding:
    expected = "reachable" if test.reachable else "isolated"
    way = f"{source} to {destination}"
    verdicts = [(flow, judge(intent, flow)) for flow in flows(intent, source, destination, test.protocol, test.port)]
    through = next(((flow, verdict) for flow, verdict in verdicts if verdict.passes), None)
    if through is None:
        why = _why_not(intent, source, destination, verdicts)
        return Finding(not test.reachable, expected, "isolated", (f"{way}: {why}",))
    passing = f"{way}: {_why(*through)}"
    if test.reachable and test.protocol == "tcp":
        for flow in flows(intent, destination, source, "tcp", None):
            back = judge(intent, flow)
            if flow.port is not None and flow.port >= ANSWERS[0] and not back.passes:
                said = f"answers do not get back: {_dropped(back)} drops {_traffic(flow)}"
                return Finding(False, expected, "half reachable", (passing, said))
    return Finding(test.reachable, expected, "reachable", (passing,))


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
    by = verdict.dropped_by
    return f"rule '{by.rule.name}' of {by.vcp}" if by and by.rule else "the lack of a common pool"


def _traffic(flow: Flow) -> str:
    if flow.protocol == OTHER:
        return "other protocols"
    name = flow.protocol if not flow.protocol.isdigit() else f"protocol {flow.protocol}"
    return name if flow.port is None else f"{name} to port {flow.port}"
