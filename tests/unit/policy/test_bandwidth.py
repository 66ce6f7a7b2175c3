"""`migration.bandwidth`: what is read, and what is refused."""

import pytest

from controller.core.plans import settings
from controller.core.policy import parse
from controller.core.policy.model import BandwidthLimit, Rules
from controller.core.policy.strangers import strangers
from tests.unit.policy.texts import errors

HEAD = "apiVersion: weft/v1\nvcps: {}\nmigration:\n  bandwidth:\n"


def test_what_is_read() -> None:
    text = HEAD + "    - {mbps: 2.3, from: c1, to: c2}\n    - {mbps: 100, hours: '22:30-06:00'}\n"
    first, second = parse(text, "p.yaml").rules.migration.bandwidth
    assert first == BandwidthLimit(2_300_000, "c1", "c2")
    assert second == BandwidthLimit(100_000_000, hours=(22 * 60 + 30, 6 * 60))


def test_a_plan_says_it_in_words() -> None:
    text = HEAD + "    - {mbps: 2.3, from: c1, to: c2}\n    - {mbps: 100, hours: '22:30-06:00'}\n"
    (change,) = settings(Rules(), parse(text, "p.yaml").rules)
    assert (change.path, change.before) == ("migration.bandwidth", "none")
    assert change.after == "2.3 Mbit/s from c1 to c2, 100 Mbit/s at 22:30-06:00 UTC"


@pytest.mark.parametrize(
    ("limit", "field", "words"),
    [
        ("{from: c1}", "migration.bandwidth[0].mbps", "lacks the key 'mbps'"),
        ("{mbps: 0}", "migration.bandwidth[0].mbps", "0.1"),
        ("{mbps: 1, hours: 8-18}", "migration.bandwidth[0].hours", "is not a time of day, such as 08:00-18:00"),
        ("{mbps: 1, hours: '08:00-24:00'}", "migration.bandwidth[0].hours", "is not a time of day"),
        ("{mbps: 1, hours: '08:00-08:00'}", "migration.bandwidth[0].hours", "leave `hours` out for the whole day"),
        ("{mbps: 1, from: c1, to: c1}", "migration.bandwidth[0].to", "no move goes from c1 to c1"),
        ("{mpbs: 1}", "migration.bandwidth[0].mpbs", "mbps"),
    ],
)
def test_what_is_refused(limit: str, field: str, words: str) -> None:
    (error,) = errors(f"{HEAD}    - {limit}\n")
    assert error[0] == 5 and error[2] == field and words in error[3], error


def test_cloudlets_that_do_not_exist_are_named() -> None:
    policy = parse(f"{HEAD}    - {{mbps: 1, from: c11, to: c2}}\n", "p.yaml")
    (warning,) = strangers(policy, set(), {"c1", "c2"})
    assert (warning.field, warning.message) == (
        "migration.bandwidth[0].from",
        "there is no cloudlet 'c11': did you mean 'c1'?",
    )
