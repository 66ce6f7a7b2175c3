"""The manuals agree with the schemas."""

import re
from pathlib import Path

import pytest

from tests.unit.policy.reference import MARKED, POLICY, ROOT, SCHEMAS, written


@pytest.mark.parametrize("page", SCHEMAS, ids=lambda page: page.name)
def test_the_tables_are_the_schemas(page: Path) -> None:
    assert written(page) == page.read_text(), "run: python -m tests.unit.policy.reference"


@pytest.mark.parametrize("page", SCHEMAS, ids=lambda page: page.name)
def test_every_section_and_definition_with_keys_has_its_table(page: Path) -> None:
    shown, schema = set(MARKED.findall(page.read_text())), SCHEMAS[page]
    with_keys = {name for name, part in schema["properties"].items() if "properties" in part}
    with_keys |= {f"${name}" for name, part in schema["$defs"].items() if "properties" in part}
    assert shown == with_keys


def test_every_example_is_mentioned() -> None:
    named = set(re.findall(r"[a-z-]+\.yaml", POLICY.read_text() + (ROOT / "policies/README.md").read_text()))
    assert {path.name for path in (ROOT / "policies/examples").glob("*.yaml")} <= named
