"""The doctor's sentences that may be the reason why a pair of LANs does not pass packets as it should."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from controller.core.doctor.difference import Difference
from controller.core.doctor.kernels import Cloudlet, compare_kernels
from controller.core.doctor.kinds import DifferenceKind
from controller.core.doctor.passages import compare_passages
from controller.core.doctor.tunnels import compare_tunnels
from controller.wire.rulesets import RuleSet

OF_A_CLOUDLET = frozenset(
    (
        DifferenceKind.AGENT_BEHIND,
        DifferenceKind.AGENT_PROBLEM,
        DifferenceKind.SESSION_DOWN,
        DifferenceKind.LAN_MISSING,
        DifferenceKind.NO_ENCRYPTION,
        DifferenceKind.RULES_GONE,
        DifferenceKind.FOREIGN_RULES,
        DifferenceKind.SETTING,
    )
)
"""Kinds that concern all traffic of a cloudlet."""

OF_A_PAIR = frozenset(
    (
        DifferenceKind.TUNNEL_MISSING,
        DifferenceKind.TUNNEL_LEFT,
        DifferenceKind.TUNNEL_WRONG,
        DifferenceKind.TUNNEL_IN_THE_CLEAR,
        DifferenceKind.ROUTE_MISSING,
        DifferenceKind.MTU_MISMATCH,
    )
)
"""Kinds that concern the traffic of two cloudlets, whose names, or their LANs', are in the sentence."""


class Causes:
    """The differences of some cloudlets' kernels, tunnels and hosts."""

    def __init__(self, intent: RuleSet, cloudlets: Sequence[Cloudlet]) -> None:
        self._cloudlets = {e.name: e.peer for e in intent.endpoints}
        found: Iterable[Difference] = (
            *compare_kernels(intent, cloudlets),
            *compare_tunnels(cloudlets),
            *compare_passages(intent, cloudlets),
        )
        self._by_cloudlet: Mapping[str, list[Difference]] = {c.desired.cloudlet: [] for c in cloudlets}
        for difference in found:
            self._by_cloudlet.get(difference.where.rsplit(" ", 1)[-1], []).append(difference)

    def of(self, near: str, far: str, most: int) -> list[str]:
        """Return the first sentences that may concern two endpoints: those about the pair first."""
        ends = ({near, self._cloudlets.get(near, "")}, {far, self._cloudlets.get(far, "")})
        pair, general = list[Difference](), list[Difference]()
        for own, other in (ends, ends[::-1]):
            for found in (one for name in sorted(own) for one in self._by_cloudlet.get(name, ())):
                if found.kind in OF_A_PAIR and other & _named(found):
                    pair.append(found)
                elif found.kind in OF_A_CLOUDLET:
                    general.append(found)
        return [one.text for one in islice((*pair, *general), most)]


def _named(difference: Difference) -> set[str]:
    """Return the words of a difference that may be names."""
    return set(re.findall(r"[a-z0-9-]+", f"{difference.subject} {difference.text}"))
