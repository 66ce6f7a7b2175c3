"""The imports between the folders of a package, found in their source. Pure, except for reading files."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GO_MODULES = ("routeserver", "agents/transfer", "deploy/terraform")
"""The folders of the Go modules. A module is called weft/ and its folder."""

Graph = Mapping[str, Set[str]]
"""The folders or loose modules that each folder or loose module imports."""


def folders(package: str) -> Graph:
    """Return the graph of a Python package: its folders and loose modules."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        inside = path.relative_to(ROOT / package)
        own = inside.parts[0] if len(inside.parts) > 1 else inside.stem
        names = (name.split(".") for name in imported(path))
        others = {parts[1] for parts in names if parts[0] == package and len(parts) > 1}
        found.setdefault(own, set()).update(others - {own})
    found.pop("__init__", None)
    return found


def go_packages(module: str) -> Graph:
    """Return the graph of a Go module's internal packages, without those that only tests import."""
    found: dict[str, set[str]] = {}
    internal = ROOT / module / "internal"
    named = re.compile(rf'"weft/{module}/internal/(\w+)')
    for path in sorted(internal.rglob("*.go")):
        own = path.relative_to(internal).parts[0]
        if not path.name.endswith("_test.go"):
            found.setdefault(own, set()).update(set(named.findall(path.read_text())) - {own})
    return found


def go_files() -> list[Path]:
    """Return all Go files of Weft, sorted."""
    return sorted(path for module in GO_MODULES for path in (ROOT / module).rglob("*.go"))


def reduced(graph: Graph) -> Graph:
    """Return the graph without arrows that a longer path implies. Raises CycleError."""
    beyond: dict[str, set[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        beyond[name] = set().union(*({other} | beyond[other] for other in graph.get(name, ())))
    return {
        name: {other for other in others if not any(other in beyond[between] for between in others - {other})}
        for name, others in graph.items()
    }


def imported(path: Path) -> Sequence[str]:
    """Return the dotted names of all modules that a file imports, at any depth, and of the names that it imports from
    them. A file is parsed once, and again when it has changed: twenty tests ask for all."""
    return _imported(path, path.stat().st_mtime_ns)


@cache
def _imported(path: Path, _changed: int) -> Sequence[str]:
    return tuple(_names(path))


def _names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
