"""Adding a cloudlet to a VPN (Teka), as a pure function that returns its reasons.

An endpoint that is near a member of a pool of the family joins that pool. If it is near members of several, it joins
each of them, and the pools stay apart; if it is near none, it founds one. The memberships of others do not change: an
endpoint shares a pool with a member's neighbour only if it is near a member itself."""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.core import edits
from controller.core.intent import CloudletState, Intent, Vcp
from controller.core.policy.model import PolicyVcp
from controller.core.proximity.naming import next_name
from controller.core.proximity.nearness import Encounter, Medians, Nearness
from controller.core.refusals import Refused


@dataclass(frozen=True)
class Answer:
    """The answer about one pool that has members nearby: `nearest` is the closest of those that decided, `why_not` says
    why the endpoint does not join the pool; None: it joins."""

    pool: str
    nearest: Encounter
    why_not: str | None = None


@dataclass(frozen=True)
class Placement:
    """The place of an endpoint: the intent after it, and an answer for every pool that it is near to. `founds` names
    the pool that it founds; `refused` says why it is in no pool, and then the intent is unchanged."""

    endpoint: str
    family: str
    intent: Intent
    answers: tuple[Answer, ...] = ()
    founds: str | None = None
    refused: str | None = None

    @property
    def joins(self) -> tuple[str, ...]:
        """The pools that it joins."""
        return tuple(answer.pool for answer in self.answers if answer.why_not is None)


def place(intent: Intent, rule: PolicyVcp, endpoint: str, medians: Medians | None = None) -> Placement:
    """Place an endpoint that is in no pool of the family yet. The caller checks that the rule selects it, and that its
    tenant may be there. The cost is proportional to the endpoints nearby, and to the pools that it joins."""
    if why := _unfit(intent, rule, endpoint):
        return Placement(endpoint, rule.name, intent, refused=why)
    answers = []
    for pool, found in _candidates(intent, rule, endpoint, medians or {}):
        allowed = [encounter for encounter in found if not encounter.vetoed]
        nearest = min(allowed or found, key=lambda encounter: (encounter.angle, encounter.endpoint))
        why = None
        if not allowed:
            why = _VETOED
        else:
            try:
                intent = edits.join(intent, pool, endpoint)
            except Refused as refused:
                why = refused.message
        answers.append(Answer(pool, nearest, why))
    placement = Placement(endpoint, rule.name, intent, tuple(answers))
    if placement.joins:
        return placement
    if reasons := [answer.why_not for answer in answers if answer.why_not and answer.why_not is not _VETOED]:
        return Placement(endpoint, rule.name, intent, tuple(answers), refused="; ".join(reasons))
    name = next_name(intent, rule.name)
    founded = Vcp(name, rule.flavour, rule.description, True, frozenset({endpoint}), rule.name)
    return Placement(endpoint, rule.name, intent.with_vcp(founded), tuple(answers), founds=name)


_VETOED = "every round trip to a member nearby is too long"


def _candidates(intent: Intent, rule: PolicyVcp, endpoint: str, medians: Medians) -> list[tuple[str, list[Encounter]]]:
    """Return the family's pools that have members nearby, with those; pools in the order of their numbers."""
    found: dict[str, list[Encounter]] = {}
    for encounter in Nearness(intent, rule, medians).encounters(endpoint):
        for pool in pools(intent, rule, encounter.endpoint):
            found.setdefault(pool, []).append(encounter)
    return sorted(found.items(), key=lambda item: (len(item[0]), item[0]))


def pools(intent: Intent, rule: PolicyVcp, endpoint: str) -> Iterator[str]:
    """Yield the pools of the family that an endpoint is in."""
    return (name for name in intent.pools_of.get(endpoint, ()) if intent.vcps[name].family == rule.name)


def _unfit(intent: Intent, rule: PolicyVcp, endpoint: str) -> str | None:
    if endpoint not in intent.endpoints:
        return f"there is no endpoint {endpoint!r}"
    cloudlet = intent.cloudlets[intent.endpoints[endpoint].cloudlet]
    if cloudlet.pe is not rule.flavour:
        return f"{endpoint} is {cloudlet.pe}, and {rule.name} is a family of {rule.flavour} pools"
    if cloudlet.state is not CloudletState.ACTIVE:
        return f"its cloudlet {cloudlet.name} is {cloudlet.state}"
    if cloudlet.place is None:
        return f"nobody said where its cloudlet {cloudlet.name} is"
    if mine := sorted(pools(intent, rule, endpoint)):
        return f"it is in {', '.join(mine)} already"
    return None


def explain(placement: Placement) -> list[str]:
    """Return the reasons, one sentence a line, for users."""
    lines = []
    for answer in placement.answers:
        met = answer.nearest
        measured = "unknown" if met.rtt_ms is None else f"{met.rtt_ms:g} ms"
        verdict = "it joins" if answer.why_not is None else f"it does not join: {answer.why_not}"
        lines.append(
            f"{answer.pool}: {met.endpoint} is {met.metres:,.0f} m away, up to {met.limit:,.0f} m is near; "
            f"round trip {measured}; {verdict}"
        )
    if placement.founds:
        lines.append(
            f"{placement.founds}: it founds this pool, for it is near no member of another of {placement.family}"
        )
    if placement.refused:
        lines.append(f"{placement.endpoint} is not placed: {placement.refused}")
    return lines
