"""The site as Zensical builds it: complete, self-contained, the same twice."""

from pathlib import Path

import pytest

from deploy.manual.pages import NotMade
from deploy.manual.site import ZENSICAL, build
from tests.house.imports import ROOT

pytestmark = pytest.mark.slow


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_manual_can_be_built_and_is_the_same_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        build(ROOT, ZENSICAL, "1.2.3", tmp_path / name)
    one = contents(tmp_path / "one")
    assert one == contents(tmp_path / "two")
    assert {"index.html", "search.json", "search.js", "operate/install.html", "reference/openapi.json"} <= one.keys()
    assert b"Weft 1.2.3" in one["index.html"]
    assert b"<table>" in one["reference/configuration.html"]


def test_a_generator_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotMade, match="is not on this machine"):
        build(ROOT, tmp_path / "zensical", "1.2.3", tmp_path / "site")
