"""The tests that a change affects: those that changed, and those that import a changed module. Pure, except for reading
files."""

from collections.abc import Collection
from pathlib import Path

from tests.house.imports import ROOT, imported


def affected(changed: Collection[Path]) -> list[Path]:
    """Return the files of unit tests to run after these files changed, sorted. Only direct imports count: modules that
    are imported indirectly have tests of their own."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in changed}
    tests = (path for path in (ROOT / "tests/unit").rglob("test_*.py"))
    return sorted(path for path in tests if path in changed or modules & set(imported(path)))
