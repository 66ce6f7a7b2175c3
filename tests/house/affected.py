"""Which tests a change is about: those that were changed, and those that import what was. Pure, but for reading."""

from collections.abc import Collection
from pathlib import Path

from tests.house.imports import ROOT, imported


def affected(changed: Collection[Path]) -> list[Path]:
    """The files of unit tests to run after these files were changed, sorted. Only direct imports count: what is behind
    them has tests of its own."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in changed}
    tests = (path for path in (ROOT / "tests/unit").rglob("test_*.py"))
    return sorted(path for path in tests if path in changed or modules & set(imported(path)))
