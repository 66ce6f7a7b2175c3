"""Devices that a change would disconnect from their VMs. The device and its VM are at different LANs, and the LANs
share no pool any more, or access rules drop packets that passed between them before.

The path from the device to its VM and the path back count separately. A path is lost if something passed before and
nothing passes after, or if TCP passed, to any port, and passes to none after: a device has connections with its VM. So
a rule about some ports, or only about other protocols, disconnects nobody, and a path that was closed before cannot be
lost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from controller.core.access import Flow, flows, judge, rules_of
from controller.core.intent import Intent
from controller.core.persistent_map import changed
from controller.core.policy.model import AccessRule

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, order=True)
class Apart:
    """A device whose MD has a lease at one endpoint and whose VM has one at another."""

    device: str
    md: str
    vm: str


@dataclass(frozen=True)
class Loss:
    """The cause of a lost path: `rule` of `vcp`; without a rule, `vcp` connects the two only before the change. `why`
    says that in words."""

    vcp: str
    rule: str | None
    why: str


@dataclass(frozen=True)
class Disconnect:
    """A device that a change would disconnect from its VM, and the cause."""

    who: Apart
    how: Loss


def losing(old: Intent, new: Intent) -> frozenset[str]:
    """Return the endpoints that may lose a path: members of pools that an endpoint leaves, members of pools with rules
    that an endpoint joins, and endpoints to which a changed rule applies. The cost is proportional to these pools, and
    to the number of all pools if rules differ."""
    found: set[str] = set()
    for name in changed(old.vcps, new.vcps):
        was, now = (vcps[name].members if name in vcps else _NONE for vcps in (old.vcps, new.vcps))
        if was - now:
            found |= was
        if now - was and rules_of(new, name):
            found |= now
    if old.policy.access != new.policy.access:
        for name in new.vcps.keys() & old.vcps.keys():
            for rule in _differing(rules_of(old, name), rules_of(new, name)):
                found |= _about(rule, new.vcps[name].members)
    return frozenset(found)


def disconnects(old: Intent, new: Intent, devices: Iterable[Apart]) -> list[Disconnect]:
    """Return the devices, sorted, that lose the path to their VM or the path back."""
    losses: dict[tuple[str, str], Loss | None] = {}
    found: list[Disconnect] = []
    for who in sorted(set(devices)):
        pair = who.md, who.vm
        if pair not in losses:
            losses[pair] = _loss(old, new, who.md, who.vm) or _loss(old, new, who.vm, who.md)
        if (how := losses[pair]) is not None:
            found.append(Disconnect(who, how))
    return found


def _loss(old: Intent, new: Intent, source: str, destination: str) -> Loss | None:
    """Return how the path from one endpoint to the other is lost, if it is."""
    if _judges(old, source, destination) == _judges(new, source, destination):
        return None
    if _passing(new, source, destination, "tcp"):
        return None
    rest = _passing(new, source, destination)
    lost = _passing(old, source, destination, "tcp") or (None if rest else _passing(old, source, destination))
    if lost is None:
        return None
    by = judge(new, lost).dropped_by
    if by is None or by.rule is None:
        pool = min(_judges(old, source, destination))
        return Loss(pool, None, f"they share {pool} and would share no pool")
    what = "no TCP" if rest else "nothing"
    why = f"by rule '{by.rule.name}' of {by.vcp}, {what} would get from {source} to {destination}"
    return Loss(by.vcp, by.rule.name, why)


def _judges(intent: Intent, source: str, destination: str) -> dict[str, Sequence[AccessRule]]:
    """Return the pools that two endpoints share, with their rules."""
    shared = intent.pools_of.get(source, _NONE) & intent.pools_of.get(destination, _NONE)
    return {vcp: rules_of(intent, vcp) for vcp in shared}


def _passing(intent: Intent, source: str, destination: str, protocol: str | None = None) -> Flow | None:
    """Return a flow that passes from one endpoint to the other, of one protocol or of any."""
    kinds = flows(intent, source, destination, protocol)
    return next((flow for flow in kinds if judge(intent, flow).passes), None)


def _differing(was: Sequence[AccessRule], now: Sequence[AccessRule]) -> Iterable[AccessRule]:
    """Return the rules of both lists, from the first that differs."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    return (*was[alike:], *now[alike:])


def _about(rule: AccessRule, members: frozenset[str]) -> frozenset[str]:
    """Return the members of a pool to which a rule applies."""
    sources, destinations = (of & members if of else members for of in (rule.sources, rule.destinations))
    return sources | destinations if sources and destinations else _NONE
