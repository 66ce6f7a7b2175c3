"""A change on trial: the time until which it can be confirmed, and its fallback (a confirmed commit: RFC 6241, 8.4).

Pools, and alterations of cloudlets and endpoints, can be on trial. During a trial no other change of pools, policy or
generation is accepted, nor of the cloudlets and endpoints on trial. So the fallback puts the earlier pools and values
in place of the present ones, in a generation of its own: numbers are never reused. Cloudlets and endpoints that are
made or removed cannot be on trial, nor prefixes: leases that clients get or lose meanwhile do not come back."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from controller.core.alterations import OF_CLOUDLETS, OF_ENDPOINTS, Fields
from controller.core.intent import Intent, Vcp
from controller.core.persistent_map import PersistentMap, changed
from controller.core.refusals import Refused, invalid
from controller.wire.flavours import Flavour

KINDS = {"cloudlets": OF_CLOUDLETS, "endpoints": (*OF_ENDPOINTS, "consented_by")}
"""The intent's mappings whose objects can be altered, with the fields that a trial takes back."""

NEVER = ("prefix", "prefix6")
"""Fields that cannot be on trial."""


class OnTrial(Refused):
    """A refusal while a change waits to be confirmed; it does not last long."""

    def __init__(self, trial: "Trial") -> None:
        self.trial = trial
        super().__init__(
            "conflict",
            f"change {trial.generation} is on trial until {trial.confirm_by:%Y-%m-%dT%H:%M:%SZ}: confirm it or roll it "
            "back; nothing is built on it before that",
        )


@dataclass(frozen=True)
class Trial:
    """`generation` is on trial, `base` the one before it, whose pools are `vcps`. `cloudlets` and `endpoints` have the
    former values of those that were altered, by name and field."""

    generation: int
    base: int
    confirm_by: datetime
    vcps: Mapping[str, Vcp]
    cloudlets: Mapping[str, Fields] = field(default_factory=dict)
    endpoints: Mapping[str, Fields] = field(default_factory=dict)

    def fallback(self, intent: Intent) -> Intent:
        """Return the intent without the change."""
        for kind in KINDS:
            present = getattr(intent, kind)
            former = {n: replace(present[n], **was) for n, was in getattr(self, kind).items() if n in present}
            if former:
                intent = intent.but(**{kind: PersistentMap.of(present).updated(former)})
        return intent.but(vcps=self.vcps)

    def touched(self, old: Intent, new: Intent) -> bool:
        """Return whether an edit changes cloudlets or endpoints that are on trial."""
        return any(
            name in getattr(self, kind) and _values(kind, old, name) != _values(kind, new, name)
            for kind in KINDS
            for name in changed(getattr(old, kind), getattr(new, kind))
        )

    def seconds(self, now: datetime) -> float:
        """Return the seconds that are left; not more than 0 when the time is over."""
        return (self.confirm_by - now).total_seconds()


def altered(old: Intent, new: Intent) -> dict[str, dict[str, Fields]]:
    """Return the former values of altered cloudlets and endpoints, by kind, name and field. Raises Refused for an edit
    that no trial can take back."""
    found: dict[str, dict[str, Fields]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        for name in sorted(changed(getattr(old, kind), getattr(new, kind))):
            was, now = _values(kind, old, name), _values(kind, new, name)
            if was is None or now is None:
                done = "made" if was is None else "removed"
                raise _untriable(f"{kind.removesuffix('s')} {name} is {done}, which a trial cannot take back")
            values = {key: value for key, value in was.items() if value != now[key]}
            for key in sorted(values.keys() & NEVER):
                raise _untriable(f"{name} gets another {key}, and a trial cannot take the new leases back")
            if values:
                found[kind][name] = values
    return found


def _untriable(why: str) -> Refused:
    return invalid("confirm_within", f"{why}: change it for good, or leave it out")


def _values(kind: str, intent: Intent, name: str) -> dict[str, Any] | None:
    found = getattr(intent, kind).get(name)
    return None if found is None else {key: getattr(found, key) for key in KINDS[kind]}


def refuse_on(trial: Trial | None, old: Intent, new: Intent) -> None:
    """Raise OnTrial if there is a trial and an edit concerns pools, the policy, route servers or agents, or cloudlets
    and endpoints on trial, because it would be built on the trial. Other edits pass."""
    other = new.generation != old.generation or new.vcps != old.vcps or new.policy is not old.policy
    if trial is not None and (other or trial.touched(old, new)):
        raise OnTrial(trial)


def document(trial: Trial) -> dict[str, Any]:
    """Return the part of a trial that is stored to fall back to it."""
    pools = [
        [v.name, v.flavour.value, v.description, v.managed_by_policy, sorted(v.members), v.family]
        for v in trial.vcps.values()
    ]
    altered = {kind: {name: dict(was) for name, was in getattr(trial, kind).items()} for kind in KINDS}
    return {"base": trial.base, "vcps": pools} | {kind: values for kind, values in altered.items() if values}


def of_document(generation: int, confirm_by: datetime, kept: dict[str, Any]) -> Trial:
    """Return the trial from its stored form, also one of a release in which only pools were on trial."""
    pools = {
        name: Vcp(name, Flavour(flavour), description, managed, frozenset(members), *family)
        for name, flavour, description, managed, members, *family in kept["vcps"]
    }
    altered = {kind: {name: _read(was) for name, was in kept.get(kind, {}).items()} for kind in KINDS}
    return Trial(generation, kept["base"], confirm_by, pools, **altered)


def _read(kept: dict[str, Any]) -> Fields:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in kept.items()}
