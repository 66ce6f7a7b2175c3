"""`make vocabulary` writes the words that `weft gather` lets into a bundle: those of the project's own messages, names
of fields, and the system's errors. A word of an answer that is none of these may be a secret, and is left out."""

import ast
import errno
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.imports import ROOT, go_files

PAGE = ROOT / "controller/cli/bundle/vocabulary.txt"
LONGEST = 20

_WORD = re.compile(r"[A-Za-z]+")
_GO = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def texts(source: str) -> Iterator[str]:
    """Yield the string constants of a Python file, without docstrings."""
    tree = ast.parse(source)
    said = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def _sources() -> Iterator[str]:
    for package in ("controller", "agents"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from texts(path.read_text())
    for path in go_files():
        if not path.name.endswith("_test.go") and path.is_relative_to(ROOT / "routeserver"):
            yield from _GO.findall(path.read_text())
    schemas = json.loads((ROOT / "docs/reference/openapi.json").read_text())["components"]["schemas"]
    for schema in schemas.values():
        yield from schema.get("properties", {})
    yield from (os.strerror(number) for number in errno.errorcode)


def words() -> list[str]:
    """Return the words in lower case, sorted."""
    found = {word.lower() for text in _sources() for word in _WORD.findall(text) if len(word) <= LONGEST}
    return sorted(found)


def known() -> set[str]:
    """Return the words that are committed."""
    return set(PAGE.read_text().split())


def main() -> None:
    """Write the words, a line each."""
    Path(PAGE).write_text("\n".join(words()) + "\n")


if __name__ == "__main__":
    main()
