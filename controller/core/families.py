"""The pools of one family, as proximity makes them. Present pools are kept as far as allowed, pools that are no longer
connected are split into their parts, and endpoints that are in none are placed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from controller.core import edits
from controller.core.intent import Intent, Vcp
from controller.core.policy.model import PolicyVcp
from controller.core.pool_conflicts import clashing
from controller.core.proximity.naming import next_name
from controller.core.proximity.nearness import Medians, Nearness
from controller.core.proximity.placing import place, pools
from controller.core.proximity.splitting import parts
from controller.core.refusals import Refused


@dataclass(frozen=True)
class Split:
    """A pool of a family that is split; `parts` are the pools in which its members are afterwards. The first one keeps
    the name."""

    vcp: str
    parts: tuple[str, ...]


@dataclass
class Family:
    """The pools of one family while they are being settled: `intent` holds them as far as they are. `left` are in no
    pool, each with the reason."""

    rule: PolicyVcp
    medians: Medians
    intent: Intent
    left: dict[str, str] = field(default_factory=dict)
    splits: list[Split] = field(default_factory=list)

    def keep(self, before: Mapping[str, Vcp], candidates: frozenset[str]) -> None:
        """Keep the present pools, with the members that may stay. Of two members that conflict only one stays."""
        mine = {
            name: replace(v, members=v.members & candidates, description=self.rule.description)
            for name, v in before.items()
            if v.family == self.rule.name and v.flavour is self.rule.flavour and v.members & candidates
        }
        full = self.intent.but(vcps={**self.intent.vcps, **mine})
        suspects = clashing(full)
        calm = {name: replace(v, members=v.members - suspects) for name, v in mine.items()}
        self.intent = self.intent.but(vcps={**self.intent.vcps, **calm}) if suspects else full
        for name, pool in sorted(mine.items()):
            for endpoint in sorted(pool.members & suspects):
                try:
                    self.intent = edits.join(self.intent, name, endpoint)
                except Refused as refused:
                    self.left[endpoint] = refused.message

    def split(self, names: Iterable[str] | None = None) -> None:
        """Split pools, those named or all, into their connected parts. An endpoint that remains alone is placed anew; a
        pool without members is removed."""
        near = cache(Nearness(self.intent, self.rule, self.medians).by_distance)
        alone: list[str] = []
        apart: dict[str, frozenset[str]] = {}
        vcps = self.intent.vcps
        for name in sorted(vcps if names is None else (n for n in set(names) if n in vcps)):
            pool = self.intent.vcps[name]
            if pool.family != self.rule.name:
                continue
            found = parts(pool.members, near)
            if not found:
                self.intent = self.intent.without_vcp(name)
            if len(found) < 2:
                continue
            self.intent = self.intent.with_vcp(replace(pool, members=found[0]))
            apart[name] = pool.members - found[0]
            for part in found[1:]:
                if len(part) > 1:
                    self.intent = self.intent.with_vcp(replace(pool, name=self._name(), members=part))
                else:
                    alone += part
        self.place(alone)
        for name, others in apart.items():
            now = {n for endpoint in others for n in pools(self.intent, self.rule, endpoint)}
            self.splits.append(Split(name, (name, *sorted(now - {name}))))

    def place(self, endpoints: Iterable[str]) -> None:
        """Place the endpoints that are in no pool of the family, one after the other, until no further one finds a
        place."""
        waiting = [e for e in sorted(endpoints) if not any(pools(self.intent, self.rule, e))]
        while waiting:
            refused = [endpoint for endpoint in waiting if not self._place(endpoint)]
            if len(refused) == len(waiting):
                return
            waiting = refused

    def _place(self, endpoint: str) -> bool:
        placement = place(self.intent, self.rule, endpoint, self.medians)
        self.intent = placement.intent
        if placement.refused is None:
            self.left.pop(endpoint, None)
        else:
            self.left[endpoint] = placement.refused
        return placement.refused is None

    def _name(self) -> str:
        return next_name(self.intent, self.rule.name)
