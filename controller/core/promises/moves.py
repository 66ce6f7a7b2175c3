"""Tests of decisions on moves: all that they need is in the test and in the policy."""

from controller.core.follow_policy import Prospect, Relation, decide
from controller.core.policy.model import Migration
from controller.core.policy.promises import MoveProfile, MoveTest
from controller.core.prediction import Forecast, Load, Path, forecast
from controller.core.promises.region import Finding, Region

MEGA = 1e6


def prove(test: MoveTest, region: Region) -> Finding:
    """Check the decision. The reasons begin with the model's forecast, if the test has a profile."""
    policy = region.intent.policy.migration
    rtt, seconds, why = test.rtt_ms, test.migration_seconds, tuple[str, ...]()
    if test.profile is not None and rtt is not None:
        made = _forecast(policy, test.profile, rtt)
        rtt, seconds, why = made.rtt_ms, made.seconds, (_said(made),)
    prospect = Prospect(Relation(test.neighbour), rtt, seconds, test.initiation_seconds, test.can_synthesise)
    verdict = decide(policy, prospect)
    return Finding(verdict.course == test.expect, test.expect, verdict.course.value, (*why, *verdict.reasons))


def _forecast(policy: Migration, profile: MoveProfile, rtt_ms: float) -> Forecast:
    """Return the forecast for a VM of which all is known: a value that the profile lacks is as `estimates` assumes
    it."""
    load = Load(
        profile.memory_mb * MEGA,
        profile.dirty_mb_per_second * MEGA,
        profile.disk_mb * MEGA,
        downtime_ms=policy.downtime_ms,
    )
    return forecast(load, (Path(profile.bandwidth_mbps * MEGA, rtt_ms),))


def _said(made: Forecast) -> str:
    if made.seconds is None:
        return "the VM writes faster than the link carries: the move never comes to an end"
    rounds = "1 round" if made.rounds == 1 else f"{made.rounds} rounds"
    slowed = f", the VM slowed down by {100 * made.throttle:.0f} %" if made.throttle else ""
    return f"at {made.rate / MEGA:.3g} MB/s it is copied in {made.seconds:.1f} s and {rounds}{slowed}"
