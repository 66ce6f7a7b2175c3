"""The manual agrees with the schema."""

import re

from tests.unit.policy.reference import MARKED, PAGE, SCHEMA, written


def test_the_tables_are_the_schemas() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "run: python -m tests.unit.policy.reference"


def test_every_section_and_definition_with_keys_has_its_table() -> None:
    shown = set(MARKED.findall(PAGE.read_text()))
    with_keys = {name for name, part in SCHEMA["properties"].items() if "properties" in part}
    with_keys |= {f"${name}" for name, part in SCHEMA["$defs"].items() if "properties" in part}
    assert shown == with_keys


def test_every_example_is_mentioned() -> None:
    named = set(re.findall(r"[a-z-]+\.yaml", PAGE.read_text() + (PAGE.parents[2] / "policies/README.md").read_text()))
    assert {path.name for path in (PAGE.parents[2] / "policies/examples").glob("*.yaml")} <= named
