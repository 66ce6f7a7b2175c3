"""The planned changes: from one intent to another, pool by pool, and from one policy to another, setting by setting."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from controller.core.families import Split
from controller.core.intent import Intent, Vcp
from controller.core.membership import Absent, Settled
from controller.core.persistent_map import changed
from controller.core.policy.model import AccessRule, Rules
from controller.wire.host_settings import HostSettings

SECTIONS = ("addresses", "proximity", "neighbours", "access", "migration", "tenants")
"""The sections of a policy beside its pools and its tests."""


@dataclass(frozen=True, order=True)
class Setting:
    """A setting of the policy, by its path, such as `addresses.lans.c1-lan.lease_seconds`; None where it is not set."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Plan:
    """Changes, each list sorted by name. `join` includes the members of created pools; the members of a deleted pool
    leave with it and are not in `leave`. `adopt` names pools made over REST that come under the policy, and `describe`
    gives (pool, description) where the description differs. `waiting` and `out` are not changes: they list endpoints
    that join later, and endpoints that cannot be where the policy wants them."""

    create: tuple[Vcp, ...] = ()
    adopt: tuple[str, ...] = ()
    describe: tuple[tuple[str, str], ...] = ()
    delete: tuple[str, ...] = ()
    join: tuple[tuple[str, str], ...] = ()
    leave: tuple[tuple[str, str], ...] = ()
    splits: tuple[Split, ...] = ()
    settings: tuple[Setting, ...] = ()
    waiting: tuple[Absent, ...] = ()
    out: tuple[Absent, ...] = ()

    @property
    def moves(self) -> int:
        """The number of steps to change the pools."""
        steps = (self.create, self.adopt, self.describe, self.delete, self.join, self.leave)
        return sum(map(len, steps))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.moves or self.settings)


def plan(before: Intent, after: Settled) -> Plan:
    """Return the steps from an intent to the one that follows from a policy."""
    new = after.intent
    pools = [
        (name, was, now)
        for name in changed(before.vcps, new.vcps)
        if (was := before.vcps.get(name)) != (now := new.vcps.get(name))
    ]
    kept = sorted((name, was, now) for name, was, now in pools if was is not None and now is not None)
    made = [now for _, was, now in pools if was is None and now is not None]
    none: frozenset[str] = frozenset()
    joined = ((name, (now.members if now else none) - (was.members if was else none)) for name, was, now in pools)
    return Plan(
        create=tuple(sorted(made, key=lambda vcp: vcp.name)),
        adopt=tuple(name for name, was, now in kept if now.managed_by_policy and not was.managed_by_policy),
        describe=tuple((name, now.description) for name, was, now in kept if now.description != was.description),
        delete=tuple(sorted(name for name, _, now in pools if now is None)),
        join=tuple(sorted((name, endpoint) for name, who in joined for endpoint in who)),
        leave=tuple(sorted((name, e) for name, was, now in kept for e in was.members - now.members)),
        splits=after.splits,
        settings=settings(before.policy, new.policy),
        waiting=tuple(absent for absent in after.absent if absent.waits),
        out=tuple(absent for absent in after.absent if not absent.waits),
    )


def settings(before: Rules, after: Rules) -> tuple[Setting, ...]:
    """Return the settings in which two policies differ, beside their pools."""
    if before is after:
        return ()
    was, now = _said(before), _said(after)
    return tuple(
        Setting(path, was.get(path), now.get(path))
        for path in sorted(was.keys() | now.keys())
        if was.get(path) != now.get(path)
    )


def _said(rules: Rules) -> dict[str, str]:
    return {path: text for name in SECTIONS for path, text in _values(name, getattr(rules, name))}


def _values(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the settings below `path`, with a sentence for each access rule; unset values are left out."""
    if value is None:
        return
    if isinstance(value, tuple) and value and isinstance(value[0], AccessRule):
        yield from ((f"{path}.{rule.name}", f"{number}. {sentence(rule)}") for number, rule in enumerate(value, 1))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _values(f"{path}.{key}", inner)
    elif isinstance(value, HostSettings):
        yield from _values(path, {key: said for key, said in value if said})
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != "name":
                yield from _values(f"{path}.{field.name}", getattr(value, field.name))
    elif isinstance(value, frozenset | tuple):
        yield path, _listed(value if isinstance(value, tuple) else sorted(value))
    elif isinstance(value, bool):
        yield path, str(value).lower()
    else:
        yield path, f"{value:g}" if isinstance(value, float) else str(value)


def _listed(values: Iterable[object]) -> str:
    return ", ".join("-".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in values) or "none"


def sentence(rule: AccessRule) -> str:
    """Return an access rule in words."""
    what = [str(rule.action)]
    if rule.rate_kbps is not None:
        what.append(f"to {rule.rate_kbps} kbit/s")
    if rule.dscp is not None:
        what.append(f"with DSCP {rule.dscp}")
    if rule.protocols:
        what.append(" or ".join(rule.protocols))
    if rule.ports:
        ports = (str(first) if first == last else f"{first}-{last}" for first, last in rule.ports)
        what.append(f"to port {', '.join(ports)}")
    for word, who in (("from", rule.sources), ("to", rule.destinations)):
        if who:
            what.append(f"{word} {', '.join(sorted(who))}")
    return " ".join(what)
