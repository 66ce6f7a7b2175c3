"""Every regular expression of the tree, found in its source: `re`'s functions, `pattern=` of fields and parameters, and
the patterns of JSON schemas."""

import ast
import importlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PACKAGES = ("controller", "agents", "lab", "policies", "migrations")
FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split")

MADE = {
    ("controller/api/agent_leases.py", "re.fullmatch(pattern, text)"): "[MAC_PATTERN, CLIENT_ID_PATTERN]",
    ("agents/ipsec/reasons.py", "re.compile(pattern)"): "[pattern for pattern, _ in _RANKS]",
}
"""Expressions in a local variable: by file and call, all values that the variable may have, to be evaluated in that
module."""


@dataclass(frozen=True)
class Expression:
    """One expression, the place where it is written, and its use: by `fullmatch` or `match`, or else anywhere in a
    text."""

    where: str
    pattern: "re.Pattern[Any]"
    ways: frozenset[str]

    def apply(self, text: str) -> None:
        """Search a text for the expression, in each way that the tree uses."""
        given: Any = text if isinstance(self.pattern.pattern, str) else text.encode("latin-1", "replace")
        for way in self.ways or ("finditer",):
            if way in ("fullmatch", "match"):
                getattr(self.pattern, way)(given)
            else:
                for _ in self.pattern.finditer(given):
                    pass


def sources() -> list[Path]:
    """Return the Python files that are shipped."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all syntax nodes of a file."""
    return tuple(ast.walk(ast.parse(path.read_text(), str(path))))


def mentions(path: Path, *words: str) -> bool:
    """Return whether a file contains any of the words; most files need no slow parsing then."""
    text = path.read_text()
    return any(word in text for word in words)


def name(path: Path) -> str:
    """Return a file's path in the repository."""
    return str(path.relative_to(ROOT))


def in_python(path: Path) -> Iterator[Expression]:
    """Yield the expressions of a file. Raises AssertionError if one cannot be evaluated."""
    if not mentions(path, "re.", "pattern"):
        return
    assigned = {id(n.value): t.id for n in nodes(path) if isinstance(n, ast.Assign) for t in n.targets
                if isinstance(t, ast.Name)}  # fmt: skip
    for node in nodes(path):
        if not isinstance(node, ast.Call):
            continue
        where = f"{name(path)}:{node.lineno}"
        if (function := _of_re(node)) is not None:
            ways = _ways(path, assigned.get(id(node))) if function == "compile" else frozenset({function})
            for pattern in _evaluated(path, node, node.args[0]):
                yield Expression(where, pattern, ways)
        for keyword in node.keywords:
            if keyword.arg == "pattern":
                yield from (Expression(where, found, frozenset()) for found in _evaluated(path, node, keyword.value))


def _of_re(node: ast.Call) -> str | None:
    match node.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=function) if function in FUNCTIONS:
            return function
    return None


def _evaluated(path: Path, call: ast.Call, argument: ast.expr) -> list["re.Pattern[Any]"]:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    text = ast.unparse(call)
    if (made := MADE.get((name(path), text))) is not None:
        return [re.compile(found) for found in eval(made, vars(module))]
    try:
        found = eval(ast.unparse(argument), vars(module))
        flags = [k.value for k in call.keywords if k.arg == "flags"] or call.args[_FLAGS.get(_of_re(call) or "", 9) :]
        return [re.compile(found, eval(ast.unparse(flags[0]), vars(module)) if flags else 0)]
    except NameError:
        raise AssertionError(f"{name(path)}: {text}: say in MADE which expressions this may be") from None


_FLAGS = {"compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2, "sub": 4, "split": 3}


def _ways(path: Path, constant: str | None) -> frozenset[str]:
    """Return the methods of a compiled expression that are called; empty, for any, if the expression has no name."""
    if constant is None:
        return frozenset()
    files = [path] if constant.startswith("_") else [file for file in sources() if mentions(file, constant)]
    return frozenset(
        node.attr
        for file in files
        for node in nodes(file)
        if isinstance(node, ast.Attribute) and _called(node.value) == constant and node.attr in FUNCTIONS
    )


def _called(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=found) | ast.Attribute(attr=found):
            return found
    return None


def in_document(where: str, document: object) -> Iterator[Expression]:
    """Yield the expressions of a JSON schema, or an OpenAPI document."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == "pattern" and isinstance(value, str):
                yield Expression(where, re.compile(value), frozenset())
            if key == "patternProperties":
                yield from (Expression(where, re.compile(found), frozenset()) for found in value)
            yield from in_document(where, value)
    elif isinstance(document, list):
        for value in document:
            yield from in_document(where, value)


def every(documents: Iterable[tuple[str, object]] = ()) -> list[Expression]:
    """Return each expression once: those of Python files, of the JSON files beside them, and of further documents."""
    written = [e for path in sources() for e in in_python(path)]
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.json")):
            written += in_document(name(path), json.loads(path.read_text()))
    for where, document in documents:
        written += in_document(where, document)
    return list({(e.pattern, e.ways): e for e in reversed(written)}.values())
