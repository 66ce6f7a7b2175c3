"""Neighbours: the candidates that each cloudlet probes, how long a result is valid, and the cloudlets to which VMs can
move (Teka, "Possible neighbour database"). Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from controller.core.intent import Cloudlet, CloudletState, Intent
from controller.core.persistent_map import changed
from controller.core.policy.model import Neighbours
from controller.core.proximity.reach import near, reach
from controller.wire.neighbours import Candidate, Candidates

WEIGHT = 1 / 3
"""The weight of the latest round in the smoothed loss: one lost echo of five does not make a neighbour impossible, a
round without any reply does, and it takes two good rounds to make up for that."""

REPORT_SECONDS = 60.0
"""The longest time between two reports of an agent, however seldom it probes."""


@dataclass(frozen=True)
class Standing:
    """One cloudlet's assessment of another: VMs can move there, or not. `loss` (0..1) is smoothed."""

    possible: bool
    loss: float


def judge(policy: Neighbours, before: Standing | None, median_ms: float | None, loss: float) -> Standing:
    """Return the standing after one more round, with a `loss` of 0..1. `before` is None for the first round, and for
    the first after a silence. A round trip under `rtt_ms` makes the neighbour possible, one of more than `keep_rtt_ms`
    makes it impossible; in between it stays as it was."""
    smoothed = loss if before is None else before.loss + WEIGHT * (loss - before.loss)
    if median_ms is None or smoothed > policy.max_loss:
        return Standing(False, smoothed)
    if before is not None and before.possible:
        return Standing(median_ms <= max(policy.keep_rtt_ms, policy.rtt_ms), smoothed)
    return Standing(median_ms < policy.rtt_ms, smoothed)


def lifetime(policy: Neighbours) -> timedelta:
    """Return how long a round is valid. Never less than two intervals: the next round's report needs more than one to
    arrive."""
    return timedelta(seconds=policy.probe_seconds * max(policy.stale_intervals, 2))


def report_seconds(policy: Neighbours) -> float:
    """Return the seconds between two reports of an agent: one probe interval, or half of one if a round is valid for
    only two; at most REPORT_SECONDS."""
    return min(policy.probe_seconds / (1 if policy.stale_intervals > 2 else 2), REPORT_SECONDS)


def candidates(intent: Intent, cloudlet: str) -> Candidates:
    """Return the cloudlets that a cloudlet probes, by name: those it shares a pool with, and those that are near. Only
    active ones probe and are probed; probing is always mutual. The cost is proportional to the result."""
    policy, own = intent.policy.neighbours, intent.cloudlets[cloudlet]
    probes = own.state is CloudletState.ACTIVE and not intent.is_host(own)
    names = sorted(set(_candidates(intent, cloudlet)) - {cloudlet}) if probes else []
    found = (intent.cloudlets[name] for name in names)
    return Candidates(
        cloudlet=cloudlet,
        vtep=own.vtep,
        probe_seconds=policy.probe_seconds,
        report_seconds=report_seconds(policy),
        echoes=policy.echoes,
        candidates=[
            Candidate(cloudlet=c.name, vtep=c.vtep)
            for c in found
            if c.state is CloudletState.ACTIVE and not intent.is_host(c)
        ],
    )


def _candidates(intent: Intent, cloudlet: str) -> Iterator[str]:
    for endpoint in intent.endpoints_of.get(cloudlet, ()):
        for remote in intent.remotes(endpoint.name):
            yield intent.endpoints[remote].cloudlet
    here, policy = intent.cloudlets[cloudlet].place, intent.policy.proximity
    if here is not None:
        for name, there in intent.places.around(here, reach(policy, cloudlet)):
            if near(policy, (cloudlet, here), (name, there)):
                yield name


def concerned(old: Intent, new: Intent) -> frozenset[str]:
    """Return the cloudlets of `new` whose candidates may differ between two intents: all if the policy on neighbours or
    on proximity has changed. Otherwise the cost is proportional to the change and to the result."""
    if (old.policy.neighbours, old.policy.proximity) != (new.policy.neighbours, new.policy.proximity):
        return frozenset(new.cloudlets)
    names: set[str] = set()
    for name in _changed(old, new):
        for intent in (old, new):
            if name in intent.cloudlets:
                names |= {name, *_candidates(intent, name)}
    for pool in changed(old.vcps, new.vcps):
        before, after = old.vcps.get(pool), new.vcps.get(pool)
        was, is_ = before.members if before else frozenset[str](), after.members if after else frozenset[str]()
        if was != is_:
            names |= {(new.endpoints.get(e) or old.endpoints[e]).cloudlet for e in was | is_}
    return frozenset(names & new.cloudlets.keys())


def _changed(old: Intent, new: Intent) -> Iterator[str]:
    """Yield the cloudlets that were added or removed, moved, got another VTEP, or became or stopped being active."""
    for name in changed(old.cloudlets, new.cloudlets):
        before, after = old.cloudlets.get(name), new.cloudlets.get(name)
        if before is None or after is None or _presence(before) != _presence(after):
            yield name


def _presence(cloudlet: Cloudlet) -> tuple[object, ...]:
    return cloudlet.state is CloudletState.ACTIVE, cloudlet.vtep, cloudlet.place
