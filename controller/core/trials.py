"""A change on trial: the time until which it can be confirmed, and its fallback (a confirmed commit: RFC 6241, 8.4).

Only pools are ever on trial. During a trial no other change of pools, policy or generation is accepted. So the fallback
replaces the present pools with the earlier ones, in a generation of its own: numbers are never reused."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.core.intent import Intent, Vcp
from controller.core.refusals import Refused
from controller.wire.flavours import Flavour


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
    """`generation` is on trial, `base` the one before it, whose pools are `vcps`."""

    generation: int
    base: int
    confirm_by: datetime
    vcps: Mapping[str, Vcp]

    def fallback(self, intent: Intent) -> Intent:
        """Return the intent without the change."""
        return intent.but(vcps=self.vcps)

    def seconds(self, now: datetime) -> float:
        """Return the seconds that are left; not more than 0 when the time is over."""
        return (self.confirm_by - now).total_seconds()


def document(trial: Trial) -> dict[str, Any]:
    """Return the part of a trial that is stored to fall back to it."""
    pools = [
        [v.name, v.flavour.value, v.description, v.managed_by_policy, sorted(v.members), v.family]
        for v in trial.vcps.values()
    ]
    return {"base": trial.base, "vcps": pools}


def of_document(generation: int, confirm_by: datetime, kept: dict[str, Any]) -> Trial:
    """Return the trial from its stored form."""
    pools = {
        name: Vcp(name, Flavour(flavour), description, managed, frozenset(members), *family)
        for name, flavour, description, managed, members, *family in kept["vcps"]
    }
    return Trial(generation, kept["base"], confirm_by, pools)
