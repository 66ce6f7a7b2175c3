"""The policy's limits on what a move may take of a link."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from controller.core.bandwidth_limits import most
from controller.core.estimates import Facts, estimate
from controller.core.policy.model import BandwidthLimit

DAY = (8 * 60, 18 * 60)
NIGHT = (22 * 60, 6 * 60)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, 1, hour, minute, tzinfo=UTC)


def test_without_a_limit_there_is_none() -> None:
    assert most((), "c1", "c2", at(12)) is None


def test_the_lowest_that_applies_counts() -> None:
    limits = (BandwidthLimit(9), BandwidthLimit(5, "c1"), BandwidthLimit(3, "c1", "c2"), BandwidthLimit(1, None, "c3"))
    assert most(limits, "c1", "c2", at(12)) == 3
    assert most(limits, "c1", "c4", at(12)) == 5
    assert most(limits, "c2", "c1", at(12)) == 9
    assert most(limits, "c1", "c3", at(12)) == 1


@pytest.mark.parametrize(
    ("hours", "applies", "free"),
    [
        (DAY, (at(8), at(12), at(17, 59)), (at(7, 59), at(18), at(0))),
        (NIGHT, (at(22), at(0), at(5, 59)), (at(21, 59), at(6), at(12))),
    ],
)
def test_hours(hours: tuple[int, int], applies: tuple[datetime, ...], free: tuple[datetime, ...]) -> None:
    limits = (BandwidthLimit(7, hours=hours),)
    assert [most(limits, "c1", "c2", when) for when in applies] == [7, 7, 7]
    assert [most(limits, "c1", "c2", when) for when in free] == [None, None, None]


def test_hours_are_in_utc_wherever_the_controller_is() -> None:
    east = timezone(timedelta(hours=9))
    assert most((BandwidthLimit(7, hours=DAY),), "c1", "c2", at(12).astimezone(east)) == 7


def test_a_prediction_knows_the_limit() -> None:
    facts = Facts("web", "debian", 1e9, False, ("c1", "c2"), rtt_ms=1.0, bandwidth=50e6)
    free, limited = estimate(facts), estimate(Facts(**{**vars(facts), "most": 5e6}))
    assert (limited.inputs["bandwidth"].value, limited.inputs["bandwidth"].origin) == (5e6, "policy")
    assert free.seconds is not None and limited.seconds is not None and limited.seconds > 5 * free.seconds
    wide = estimate(Facts(**{**vars(facts), "most": 500e6}))
    assert wide.inputs["bandwidth"].origin == "past moves over the link"
