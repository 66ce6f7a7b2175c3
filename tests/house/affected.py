"""Which tests a change is about: those that were changed, and those that import what was. Pure, but for reading."""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.house.imports import ROOT


def affected(changed: Collection[Path]) -> list[Path]:
    """The files of unit tests to run after these files were changed, sorted. Only direct imports count: what is behind
    them has tests of its own."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in changed}
    tests = (path for path in (ROOT / "tests/unit").rglob("test_*.py"))
    return sorted(path for path in tests if path in changed or modules & set(_imported(path)))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
