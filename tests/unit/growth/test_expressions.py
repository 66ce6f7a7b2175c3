"""For any text, twice its length costs an expression at most twice as much."""

import ast
import re
from itertools import product

import pytest

from controller.server.app import create_app
from controller.settings import Settings
from tests.house.imports import GO_MODULES, go_files
from tests.unit.growth.expressions import ROOT, Expression, every, mentions, name, nodes, sources
from tests.unit.growth.pace import growth
from tests.unit.growth.shapes import Shape, shapes

OTHER_ENGINES = {"regex", "_regex", "pcre", "pcre2", "rure", "hyperscan", "oniguruma", "sre_compile", "sre_parse"}
SHORT = {
    "agents/host/chains.py": "a bridge's name, which the kernel keeps to 15 characters",
    "agents/kernel/ports.py": "an interface's name, which the kernel keeps to 15 characters, as the API does patterns",
    "controller/core/doctor/kernels.py": "an interface's name and a pattern, of 15 characters each",
    "lab/bench_thin/__main__.py": "what the one who starts it writes",
    "lab/faults/cases.py": "what the one who starts it writes",
    "lab/siege/__main__.py": "what the one who starts it writes",
    "lab/verify_memory/ways.py": "what the one who starts it writes",
}
"""Files that use shell patterns (`fnmatch`, which turns them into expressions), with the bounds of the texts."""


def worst(expression: Expression) -> tuple[Shape, str] | None:
    """Return the first shape for which the cost of an expression grows too fast, and how it grows."""
    for shape in shapes(expression.pattern):
        if found := growth(expression.apply, shape.text):
            return shape, found
    return None


@pytest.mark.parametrize(
    "pattern",
    [r'("+|\\.)*$', r'^"([^"\\]+|\\.)*$', r"\d+\d+x", r"(a+)+b", r"(a|a)*b", r"\s+x", r"^(.*),(.*),(.*);", r"(\d+).*?z",
     r"BEGIN.+?END", r"(?:x|y)*y+z"],
)  # fmt: skip
def test_an_expression_that_grows_is_found(pattern: str) -> None:
    planted = Expression("here", re.compile(pattern, re.DOTALL), frozenset({"search"}))
    assert worst(planted) is not None, f"{pattern} is taken for linear"


@pytest.mark.parametrize(
    "pattern", [r"[a-z]{1,63}", r"^(ab)+$", r"\d{1,9}:\d{1,9}", r'"[^"]{0,200}"', r"[^\x00-\x1f]*"]
)
def test_an_expression_that_does_not_grow_is_left_alone(pattern: str) -> None:
    assert worst(Expression("here", re.compile(pattern), frozenset({"fullmatch"}))) is None


def test_no_expression_grows_faster_than_its_text() -> None:
    found = every([("OpenAPI", create_app(Settings()).openapi())])
    assert len(found) > 60, "most are not found any more"
    grown = {f"{e.where}: {e.pattern.pattern!r}": worst(e) for e in found}
    grown = {where: how for where, how in grown.items() if how is not None}
    assert not grown, "\n".join(f"{where}: {how} for {shape}" for where, (shape, how) in grown.items())  # type: ignore[misc]


def test_expressions_are_of_the_standard_library_and_called_by_its_name() -> None:
    for path in sources():
        for node in nodes(path) if mentions(path, "import re", "from re", *OTHER_ENGINES) else ():
            if isinstance(node, ast.Import):
                for alias in node.names:
                    assert alias.name not in OTHER_ENGINES, f"{name(path)} imports {alias.name}"
                    assert alias.name != "re" or alias.asname is None, f"{name(path)} calls re {alias.asname}"
            if isinstance(node, ast.ImportFrom):
                assert node.module not in OTHER_ENGINES | {"re"}, f"{name(path)} imports from {node.module}"


def test_shell_patterns_are_for_short_texts() -> None:
    users = {
        name(path)
        for path in sources()
        if mentions(path, "fnmatch", "glob")
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom | ast.Import)
        and (getattr(node, "module", None) in ("fnmatch", "glob") or {a.name for a in node.names} & {"fnmatch", "glob"})
    }
    assert users == set(SHORT), "say in SHORT what bounds their texts"


def test_expressions_in_go_are_linear() -> None:
    """Go's `regexp` is RE2; another engine would be a module with another name."""
    for folder, file in product(GO_MODULES, ("go.mod", "go.sum")):
        text = (ROOT / folder / file).read_text()
        modules = {line.split()[0] for line in text.splitlines() if line.split()}
        modules |= {line.split()[0] for line in text.split("\t")[1:]}
        others = {module for module in modules if re.search("regex|pcre|oniguruma|hyperscan", module)}
        assert not others, f"{folder}/{file} has {others}"
    for path in go_files():
        for line in path.read_text().splitlines():
            assert not re.search(r'^\s*(import )?"(?!regexp")\S{0,100}(regex|pcre|onig)\S{0,100}"$', line), path
