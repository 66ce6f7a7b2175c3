"""The comparison of the intent with the rule set that a route server acts on."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from controller.core.doctor.difference import Difference, listed
from controller.core.doctor.kinds import DifferenceKind
from controller.core.doctor.ribs import RouteServer
from controller.wire.model import Message
from controller.wire.rulesets import RuleSet


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def compare_rule_sets(intent: RuleSet, server: RouteServer) -> Iterator[Difference]:
    """Yield the differences between the route server's rule set and the intended one."""
    where, found = f"route server {server.name}", server.rule_set
    if found is None:
        yield Difference(
            DifferenceKind.ROUTE_SERVER_SILENT,
            where,
            server.name,
            "reachable",
            server.error or "no answer",
            f"{server.name} does not answer on its control address ({server.error or 'no answer'}): nothing it does "
            f"can be checked, and changes reach it when it is back.",
        )
        return
    if found.generation != intent.generation:
        yield Difference(
            DifferenceKind.ROUTE_SERVER_BEHIND,
            where,
            "generation",
            str(intent.generation),
            str(found.generation),
            f"{server.name} is at generation {found.generation}, the controller at {intent.generation}: "
            f"{server.error or 'the controller is about to bring it up to date'}.",
        )
    yield from _named(where, server.name, "peer", intent.peers, found.peers)
    yield from _named(where, server.name, "endpoint", intent.endpoints, found.endpoints)
    yield from _named(where, server.name, "VCP", intent.vcps, found.vcps)


def _named(
    where: str, server: str, noun: str, wanted: Sequence[_Named], found: Sequence[_Named]
) -> Iterator[Difference]:
    want, have = {thing.name: thing for thing in wanted}, {thing.name: thing for thing in found}
    for name in sorted(want.keys() | have.keys()):
        subject = f"{noun} {name}"
        if name not in have:
            text = f"{server} does not know the {subject}."
            yield Difference(DifferenceKind.RULE_SET, where, subject, "known", "unknown", text)
        elif name not in want:
            text = f"{server} has the {subject}, which the controller does not."
            yield Difference(DifferenceKind.RULE_SET, where, subject, "none", "known", text)
        else:
            yield from _attributes(where, server, subject, want[name], have[name])


def _attributes(where: str, server: str, subject: str, want: _Named, have: _Named) -> Iterator[Difference]:
    assert isinstance(want, Message) and isinstance(have, Message)
    for attribute in type(want).model_fields:
        expected, found = getattr(want, attribute), getattr(have, attribute)
        if isinstance(expected, list):
            expected, found = set(expected), set(found)
        if expected != found:
            yield Difference(
                DifferenceKind.RULE_SET,
                where,
                subject,
                f"{attribute}: {listed(expected)}",
                f"{attribute}: {listed(found)}",
                f"{server} has {attribute} {listed(found)} for the {subject}; it should be {listed(expected)}.",
            )
