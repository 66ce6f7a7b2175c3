"""The check of a private environment: what its distributions require on the target is there."""

from pathlib import Path

import pytest

from controller.wire.release import DISTRIBUTION
from deploy.packages.failure import NotBuilt
from deploy.packages.python_environment import add_ui, lacking
from deploy.packages.target import RELEASES, Target

BOOKWORM, TRIXIE = (Target(RELEASES[name], "arm64") for name in ("bookworm", "trixie"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    _put(tmp_path, DISTRIBUTION, "one", 'two; extra == "cli"', 'three; extra == "agent"')
    _put(tmp_path, "one", 'older; python_version < "3.13"', 'newer; python_version >= "3.13"')
    _put(tmp_path, "newer")
    return tmp_path


def test_markers_are_those_of_the_target(site: Path) -> None:
    assert lacking(site, (), TRIXIE) == []
    assert lacking(site, (), BOOKWORM) == ['older; python_version < "3.13" (for one)']


def test_only_the_extras_that_are_asked_for_count(site: Path) -> None:
    assert lacking(site, ("cli",), TRIXIE) == [f'two; extra == "cli" (for {DISTRIBUTION})']
    _put(site, "two", "four[fast]")
    _put(site, "four", 'five; extra == "fast"')
    assert lacking(site, ("cli",), TRIXIE) == ['five; extra == "fast" (for four)']


def test_machines_differ(site: Path) -> None:
    _put(site, "newer", 'six; platform_machine == "aarch64"', 'seven; platform_machine == "x86_64"')
    assert lacking(site, (), TRIXIE) == ['six; platform_machine == "aarch64" (for newer)']


def test_the_built_ui_is_part_of_the_controller(tmp_path: Path) -> None:
    built, to = tmp_path / "ui", tmp_path / "static"
    with pytest.raises(NotBuilt, match="make ui"):
        add_ui(built, to)
    for name in ("index.html", "assets/main-1.js", ".vite/manifest.json"):
        (built / name).parent.mkdir(parents=True, exist_ok=True)
        (built / name).write_text(name)
    add_ui(built, to)
    assert sorted(path.relative_to(to).as_posix() for path in to.rglob("*.*")) == ["assets/main-1.js", "index.html"]


def _put(site: Path, name: str, *required: str) -> None:
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(exist_ok=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {one}" for one in required)]
    extras = ("cli", "agent") if name == DISTRIBUTION else ("fast",)
    (folder / "METADATA").write_text("\n".join([*lines, *(f"Provides-Extra: {one}" for one in extras)]) + "\n")
