"""The policy examples work: each can be applied to a region without a warning, and passes its own tests."""

from pathlib import Path

import pytest

from controller.core import policies
from controller.core.policy import Policy, parse
from controller.core.policy.sections import tests as kinds
from controller.core.promises import Outcome, Region, alone, run
from tests.unit.policy.turin import turin

EXAMPLES = sorted((Path(__file__).parents[3] / "policies" / "examples").glob("*.yaml"))


def example(path: Path) -> Policy:
    policy = parse(path.read_text(), path.name)
    assert not policy.warnings, policy.warnings
    return policy


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_can_be_applied_and_keeps_its_promises(path: Path) -> None:
    policy = example(path)
    edit = policies.apply(turin(), policy, {})
    assert not edit.warnings, edit.warnings
    results = run(policy, Region(edit.intent))
    assert results and [str(r.said) for r in results if r.outcome is not Outcome.PASSED] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_breaks_no_promise_without_a_region(path: Path) -> None:
    policy = example(path)
    results = run(policy, alone(policy.rules))
    assert [str(r.said) for r in results if r.refuses] == []
    needs = "select" in path.read_text() or "automatic" in path.read_text()
    assert needs or all(r.outcome is Outcome.PASSED for r in results), [str(r.said) for r in results]


def test_the_examples_show_all_of_the_language() -> None:
    texts = [path.read_text() for path in EXAMPLES]
    policies_ = [example(path) for path in EXAMPLES]
    for section in ("addresses", "proximity", "neighbours", "vcps", "access", "migration", "tenants", "tests"):
        assert any(f"\n{section}:\n" in text for text in texts), section
    shown = {kinds.kind_of(test) for policy in policies_ for test in policy.document.data["tests"]}  # type: ignore[index]
    assert shown == set(kinds.KINDS)
