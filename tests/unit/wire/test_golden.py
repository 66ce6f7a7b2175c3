"""Golden documents: the controller and the route server (Go) write and read the same messages."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from controller.core.rulesets import apply
from controller.wire.model import Message
from controller.wire.rulesets import Change, Operation, Receipt, RuleSet

HERE = Path(__file__).parents[3] / "routeserver" / "internal" / "ruleset" / "testdata"
GOLDEN: dict[str, type[Message]] = {
    "ruleset.json": RuleSet,
    "changed.json": RuleSet,
    "change.json": Change,
    "receipt.json": Receipt,
}


def document(name: str) -> Any:
    return json.loads((HERE / name).read_text())


def test_every_golden_document_has_its_model() -> None:
    assert {path.name for path in HERE.glob("*.json")} == set(GOLDEN)


@pytest.mark.parametrize("name", GOLDEN)
def test_reading_and_writing_changes_nothing(name: str) -> None:
    assert GOLDEN[name].model_validate(document(name)).model_dump(mode="json") == document(name)


@pytest.mark.parametrize("name", GOLDEN)
def test_an_unknown_field_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="surprise"):
        GOLDEN[name].model_validate(document(name) | {"surprise": 1})


def test_the_change_has_every_operation_and_leads_where_it_says() -> None:
    change = Change.model_validate(document("change.json"))
    union: Any = Operation.__origin__  # type: ignore[attr-defined]
    assert {type(op) for op in change.ops} == set(union.__args__)
    before = RuleSet.model_validate(document("ruleset.json"))
    assert change.base == before.generation
    after = apply(before, change.ops, change.generation)
    assert after == RuleSet.model_validate(document("changed.json"))
