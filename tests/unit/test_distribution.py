"""The distribution's name belongs to nobody else, and everything installed with it is pinned."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import InvalidRequirement, Requirement

from controller.wire.release import DISTRIBUTION
from tests.house.tracked import tracked

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = [path for path in tracked() if path.suffix not in (".svg", ".json") and path != Path(__file__)]
INSTALL = re.compile(r"\bpip3? install (?P<rest>[^\n&|;`)]*)")
WORD = re.compile(r"'[^']*'|[^\s'\"]+")
READERS = {"version", "distribution", "metadata", "requires", "files"}
"""Functions of importlib.metadata that take a distribution's name."""


def installs() -> list[tuple[Path, list[str]]]:
    """Return each `pip install` in the tree, as its words."""
    found = []
    for path in TEXTS:
        text = path.read_text(errors="replace").replace("\\\n", " ").replace("{DISTRIBUTION}", DISTRIBUTION)
        for each in INSTALL.finditer(text):
            found.append((path, [word.strip("'") for word in WORD.findall(each["rest"].split(" #")[0])]))
    return found


def requirements(words: list[str]) -> list[Requirement]:
    """Return the requirements from the package index: neither options, nor paths."""
    found, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in ("-c", "-r", "-e")
            continue
        try:
            found.append(Requirement(word))
        except InvalidRequirement:
            assert word.startswith((".", "/", "$")), f"neither a requirement nor a path: {word}"
    return found


def test_the_name_is_said_once_and_is_ours() -> None:
    assert PROJECT["name"] == DISTRIBUTION != "weft"


def test_what_is_installed_is_ours_or_pinned() -> None:
    found = installs()
    assert len(found) >= 3
    for path, words in found:
        pinned = "constraints.txt" in words or "-r" in words
        for wanted in requirements(words):
            where = f"{path.relative_to(ROOT)}: pip install {wanted}"
            assert wanted.name != "weft", f"{where}: that is another project"
            assert pinned or wanted.specifier or wanted.name == DISTRIBUTION, f"{where}: any release of it"
            assert wanted.extras <= set(PROJECT["optional-dependencies"]) or wanted.name != DISTRIBUTION, where


@pytest.mark.parametrize(
    "path", [path for path in TEXTS if path.suffix == ".py" and "importlib.metadata" in path.read_text()]
)
def test_nobody_looks_up_another_name(path: Path) -> None:
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) in READERS:
            literal = [each.value for each in call.args if isinstance(each, ast.Constant)]
            assert not [name for name in literal if name in ("weft", DISTRIBUTION)], "use wire.release.DISTRIBUTION"


@pytest.mark.parametrize("file", sorted(ROOT.glob("tests/*/requirements.txt")), ids=lambda file: file.parent.name)
def test_a_list_of_tools_can_be_installed_from_an_index(file: Path) -> None:
    """It pins each distribution, and names none that no index has, such as our own: a machine on which that one is
    installed by hand does not show it."""
    pinned = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert pinned and all(re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,-]+\])?==\S+", line) for line in pinned)
    assert DISTRIBUTION not in {line.partition("=")[0].lower() for line in pinned}
