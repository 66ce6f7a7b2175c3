"""The comparison of the agents' probes through the tunnels with the pools, and the agents' findings at their hosts.

Kernels may agree with the intent down to the last label while no packet passes: a firewall in between, another sysctl,
an underlay that drops UDP. The agent's verdict decides about a pair, and needs several probes in a row; an undecided
pair is no difference."""

from collections.abc import Iterator, Mapping, Sequence

from controller.core.doctor.difference import Difference
from controller.core.doctor.kernels import Cloudlet
from controller.core.doctor.kinds import DifferenceKind
from controller.wire.findings import Finding, Passage
from controller.wire.rulesets import RuleSet

_FAMILIES = {"ipv4": "IPv4", "ipv6": "IPv6"}


def compare_passages(intent: RuleSet, cloudlets: Sequence[Cloudlet]) -> Iterator[Difference]:
    """Yield every pair that shares a pool and does not answer, every pair that answers though it shares none, and the
    findings.

    An agent that is not connected is skipped: its knowledge is old."""
    endpoints = {e.name: c.desired.cloudlet for c in cloudlets for e in c.desired.endpoints}
    together = _together(intent)
    for cloudlet in sorted(cloudlets, key=lambda c: c.desired.cloudlet):
        if cloudlet.report is None or not cloudlet.connected:
            continue
        for state in cloudlet.report.endpoints:
            for passage in state.passages:
                near, far = state.endpoint, passage.remote
                if near not in endpoints or far not in endpoints:
                    continue  # one of them has been removed meanwhile
                shared, passes = far in together.get(near, frozenset()), passage.verdict == "passes"
                if shared is not passage.allowed:
                    continue  # the agent has not heard of it yet
                if shared and not passes:
                    yield _silent(cloudlet.desired.cloudlet, near, passage, endpoints[far])
                if passes and not shared:
                    yield _open(cloudlet.desired.cloudlet, near, passage, endpoints[far])
        for finding in cloudlet.report.findings:
            yield _found(cloudlet.desired.cloudlet, finding)


def _together(intent: RuleSet) -> Mapping[str, frozenset[str]]:
    """Return the endpoints that share a pool with each endpoint."""
    found: dict[str, frozenset[str]] = {}
    for vcp in intent.vcps:
        for member in vcp.members:
            found[member] = found.get(member, frozenset()) | frozenset(vcp.members)
    return found


def _silent(cloudlet: str, near: str, passage: Passage, far_cloudlet: str) -> Difference:
    far, family = passage.remote, _FAMILIES[passage.family]
    text = f"{family} packets do not pass from {near} to {far}: {far_cloudlet} answers no probe of {cloudlet}."
    return Difference(
        DifferenceKind.DOES_NOT_PASS, f"tunnels of {cloudlet}", f"{near} to {far}", "answers", "silence", text
    )


def _open(cloudlet: str, near: str, passage: Passage, far_cloudlet: str) -> Difference:
    far, family = passage.remote, _FAMILIES[passage.family]
    text = (
        f"The gateway of {far} at {far_cloudlet} answers {family} probes from {near}, and no VCP allows it: the "
        "isolation of pools is broken."
    )
    where = f"tunnels of {cloudlet}"
    return Difference(DifferenceKind.PASSES_THOUGH_FORBIDDEN, where, f"{near} to {far}", "silence", "answers", text)


def _found(cloudlet: str, finding: Finding) -> Difference:
    where = f"host of {cloudlet}" if finding.endpoint is None else f"{finding.endpoint} at {cloudlet}"
    return Difference(
        DifferenceKind(finding.kind), where, finding.subject, finding.expected, finding.found, finding.text
    )
