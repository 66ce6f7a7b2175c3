"""A change on trial: until when it can be confirmed, and what it falls back to (a confirmed commit: RFC 6241, 8.4).

Only pools are ever on trial. While one is, nothing is built on it, so that falling back is putting the pools of before
in the place of those of now, in a generation of its own: numbers are never given twice."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.core.intent import Intent, Vcp
from controller.core.refusals import Refused
from controller.wire.flavours import Flavour


class OnTrial(Refused):
    """Refused now, because a change waits to be confirmed; not for long."""

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
        """The intent as it is without the change."""
        return intent.but(vcps=self.vcps)

    def seconds(self, now: datetime) -> float:
        """What is left of its time; not more than 0 when it is over."""
        return (self.confirm_by - now).total_seconds()


def document(trial: Trial) -> dict[str, Any]:
    """What has to be kept of a trial to come back to it."""
    pools = [
        [v.name, v.flavour.value, v.description, v.managed_by_policy, sorted(v.members), v.family]
        for v in trial.vcps.values()
    ]
    return {"base": trial.base, "vcps": pools}


def of_document(generation: int, confirm_by: datetime, kept: dict[str, Any]) -> Trial:
    """The trial that was kept."""
    pools = {
        name: Vcp(name, Flavour(flavour), description, managed, frozenset(members), *family)
        for name, flavour, description, managed, members, *family in kept["vcps"]
    }
    return Trial(generation, kept["base"], confirm_by, pools)
