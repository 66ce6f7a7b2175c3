"""`migration.schedule`: what is read, and what is refused."""

import pytest

from controller.core.policy import parse
from controller.core.policy.model import ScheduledMoves
from controller.core.policy.strangers import strangers
from tests.unit.policy.texts import errors

HEAD = "apiVersion: weft/v1\nvcps: {}\nmigration:\n  schedule:\n"
WHERE = "vms: [v1], endpoint: c2-lan"


def test_what_is_read() -> None:
    weekdays, daily = "cron: 0 18 * * 1-5", "cron: 0 6 * * *, keep: true, copied_before: 60"
    text = f"{HEAD}    - {{{WHERE}, {weekdays}}}\n    - {{{WHERE}, {daily}}}\n  keep_seconds: 3600\n"
    first, second = parse(text, "p.yaml").rules.migration.schedule
    assert first == ScheduledMoves(("v1",), "c2-lan", "0 18 * * 1-5")
    assert second == ScheduledMoves(("v1",), "c2-lan", "0 6 * * *", keep=True, copied_before=60)


@pytest.mark.parametrize(
    ("entry", "field", "words"),
    [
        (f"{{{WHERE}}}", "migration.schedule[0].cron", "lacks the key 'cron'"),
        (f"{{{WHERE}, cron: 0 18 * *}}", "migration.schedule[0].cron", "it has not five fields: minute, hour"),
        (f"{{{WHERE}, cron: 60 18 * * *}}", "migration.schedule[0].cron", "Bad minute"),
        (f"{{{WHERE}, cron: 0 0 30 2 *}}", "migration.schedule[0].cron", "Bad day-of-month"),
        (
            f"{{{WHERE}, cron: 0 18 * * *, copied_before: 60}}",
            "migration.schedule[0].copied_before",
            "keep_seconds is 0",
        ),
        ("{vms: [], endpoint: c2-lan, cron: 0 18 * * *}", "migration.schedule[0].vms", ""),
        ("{vms: [v1], endpoint: C2, cron: 0 18 * * *}", "migration.schedule[0].endpoint", ""),
    ],
)
def test_what_is_refused(entry: str, field: str, words: str) -> None:
    (error,) = errors(f"{HEAD}    - {entry}\n")
    assert error[0] == 5 and error[2] == field and words in error[3], error


def test_endpoints_that_do_not_exist_are_named() -> None:
    policy = parse(f"{HEAD}    - {{vms: [v1], endpoint: c22-lan, cron: 0 18 * * *}}\n", "p.yaml")
    (warning,) = strangers(policy, {"c2-lan"}, set())
    assert (warning.field, warning.message) == (
        "migration.schedule[0].endpoint",
        "there is no endpoint 'c22-lan': did you mean 'c2-lan'?",
    )
