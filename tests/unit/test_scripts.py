"""Scripts that end at the first error do so. Under `set -e`, bash goes on when the first part of `a && b` fails."""

import re
from pathlib import Path

import pytest

from tests.house.imports import ROOT
from tests.house.tracked import tracked

CONDITION = r"\[|\(\(|if |elif |while |until |echo "
AND = re.compile(rf"^\s*(?:echo [^;]*;\s*)?(?!{CONDITION})[^#|]*[^\s&#|]\s+&& (?!exit|return|continue|break)[^|]*$")
"""A statement `a && b` whose failure nothing notices; `a || b`, tests and conditions are none."""


def scripts() -> list[Path]:
    return [path for path in tracked() if path.read_bytes()[:32].startswith((b"#!/bin/bash", b"#!/bin/sh"))]


@pytest.mark.parametrize("path", scripts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_error_is_passed_over(path: Path) -> None:
    text = path.read_text()
    if not re.search(r"^set -e", text, re.M):
        return
    found = [line for line in text.splitlines() if AND.match(line) and not line.rstrip().endswith(("}", "\\"))]
    assert not found, found


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ('echo "== ruff"; ruff check . && ruff format --check .', True),
        ("mkdir -p build && rm -f build/x", True),
        ("[ -x x ] && y", False),
        ("enough && exit 0", False),
        ("a && b || die", False),
        ("if a && b; then", False),
    ],
)
def test_the_expression_finds_them(line: str, bad: bool) -> None:
    assert bool(AND.match(line)) is bad
