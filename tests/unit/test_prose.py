"""Sentences name the actor: none in docstrings, Go comments, guides and READMEs begins with a bare What or Who,
and no error leaves open who acts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.imports import ROOT, go_files

BARE = re.compile(r"(?:^|(?<=[.!?] ))(?:What|Who|Whoever|Whatever)\b[^.!?]*[.!]", re.M)
"""A statement; a question may begin so."""

VAGUE = re.compile(
    r"\b(?:somebody|nobody|whoever|whatever)\b|(?:^|[:;] )(?:what|who) |(?<!there )\b(?:is|are) no (?!longer)[a-z]",
    re.I,
)
"""Words of an error that leave open who does something, and "is no …" for "is not a …"."""

GUIDES = ("operate", "policy", "network", "contribute")


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield docstrings, and strings that stand below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def bare(text: str) -> list[str]:
    return BARE.findall(" ".join(text.split()))


@pytest.mark.parametrize("folder", ["controller", "agents", "lab", "deploy", "migrations", "tests"])
def test_docstrings_name_the_actor(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for text in texts(ast.parse(path.read_text())):
            assert not bare(text), f"{path.relative_to(ROOT)}: {bare(text)}"


def raised(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of errors that are raised, with '…' for each value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            inner = list(ast.walk(node.exc))
            parts = {id(value) for text in inner if isinstance(text, ast.JoinedStr) for value in text.values}
            for text in inner:
                if isinstance(text, ast.JoinedStr):
                    yield "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in text.values)
                elif isinstance(text, ast.Constant) and isinstance(text.value, str) and id(text) not in parts:
                    yield text.value


@pytest.mark.parametrize("folder", ["controller", "agents", "lab", "deploy"])
def test_errors_name_the_actor(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for text in raised(ast.parse(path.read_text())):
            assert not VAGUE.search(text), f"{path.relative_to(ROOT)}: {text}"


def test_go_errors_name_the_actor() -> None:
    for path in go_files():
        for text in re.findall(r'(?:errors\.New|fmt\.Errorf)\("((?:[^"\\]|\\.)*)"', path.read_text()):
            assert not VAGUE.search(text), f"{path.relative_to(ROOT)}: {text}"


def test_go_comments_name_the_actor() -> None:
    for path in go_files():
        blocks = re.findall(r"(?:^[ \t]*//.*\n)+", path.read_text(), re.M)
        for block in blocks:
            text = re.sub(r"^[ \t]*//", "", block, flags=re.M)
            assert not bare(text), f"{path.relative_to(ROOT)}: {bare(text)}"


def pages() -> list[Path]:
    guides = [page for guide in GUIDES for page in (ROOT / "docs" / guide).glob("*.md")]
    return sorted([*guides, *(ROOT / "routeserver/docs").glob("*.md"), *ROOT.glob("*/README.md"), ROOT / "README.md"])


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_the_actor(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    for block in re.split(r"\n\s*\n|^#.*$|^\s*[-*|] ?|^\s*\d+\. ", text, flags=re.M):
        assert not bare(block), bare(block)
