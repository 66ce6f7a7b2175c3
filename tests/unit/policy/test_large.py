"""The region of `make bench-policy`: its policy can be applied, and passes its own tests."""

from collections import Counter

import pytest

from controller.core import policies
from controller.core.policy import parse
from controller.core.policy.sections.tests import KINDS, kind_of
from controller.core.promises import Outcome, Region, run
from tests.bench.policy.large import EVERY, TESTS, inhabited, policy
from tests.bench.policy.page import written


@pytest.mark.parametrize("lived_in", [False, True])
def test_the_policy_can_be_applied_and_keeps_its_promises(lived_in: bool) -> None:
    cloudlets, vcps = 200, 40
    intent, text = inhabited(cloudlets), policy(cloudlets, vcps, lived_in=lived_in)
    parsed = parse(text, "large.yaml")
    edit = policies.apply(intent, parsed, {})
    assert not edit.warnings and len(edit.plan.create) >= vcps
    results = run(parsed, Region(edit.intent))
    assert [str(result.said) for result in results if result.outcome is not Outcome.PASSED] == []
    assert len(results) == (TESTS if lived_in else 0)
    assert len(parsed.rules.access) == (vcps // 4 if lived_in else 0)
    lans = parsed.rules.addresses.lans.values()
    assert len(lans) == (cloudlets // EVERY if lived_in else 0) and all(plan.exclusions for plan in lans)
    assert sum(len(plan.reservations) == 2 for plan in lans) == len(lans) // 10


def test_there_are_tests_of_all_kinds() -> None:
    found = parse(policy(200, 40, lived_in=True), "large.yaml").document.data["tests"]  # type: ignore[index]
    assert Counter(map(kind_of, found)).keys() == set(KINDS)


def test_the_page_gets_the_table() -> None:
    figures = {"rest_ms": 1.0, "command_ms": 2.4, "controller_cpu_ms": 3.0, "command_cpu_ms": 1234.0}
    row = {"database": "sqlite", "lived_in": True, "cloudlets": 1000, "vcps": 200, "members": 1747, "tests": 200}
    row |= {"leases_hit": 20, "load": 0.31, "first": figures, "again": figures}
    page = written("before\n<!-- make bench-policy -->\nold\n<!-- end -->\nafter\n", [row])
    assert page.startswith("before\n") and page.endswith("<!-- end -->\nafter\n") and "old" not in page
    assert "| lived in | SQLite | a first policy, 1,747 joins | 1 | 2 | 3 | 1,234 |\n" in page
    assert "load up to 0.3. Lived in: 200 tests, 20 leases hit.\n" in page
    with pytest.raises(ValueError, match="has no table"):
        written("before\n", [row])
