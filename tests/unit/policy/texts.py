"""Policies as texts, and the parser's errors in one."""

from pathlib import Path

import pytest

from controller.core.policy import PolicyInvalid, parse

POLICIES = Path(__file__).parents[3] / "policies"
EXAMPLES = sorted((POLICIES / "examples").glob("*.yaml"))
TEXTS = [path.read_text() for path in EXAMPLES]
LAN = "apiVersion: weft/v1\nvcps: {}\naddresses:\n  lans:\n    c1-lan:\n"


def errors(text: str) -> list[tuple[int, int, str, str]]:
    """Return line, column, field and message of each error, in the parser's order."""
    with pytest.raises(PolicyInvalid) as raised:
        parse(text, "p.yaml")
    assert all(error.file == "p.yaml" for error in raised.value.errors)
    return [(error.line, error.column, error.field, error.message) for error in raised.value.errors]
