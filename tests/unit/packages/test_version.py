"""Versions of packages, from git's tags, and their order for Debian and for Python."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.version import Version as Pep440

from deploy.packages.failure import NotBuilt
from deploy.packages.target import RELEASES
from deploy.packages.version import Version, commit_time, described, of_tree

IN_ORDER = [
    described("v0.9.9-3-gabcdef0", False),
    described("v0.10.0-0-g1234567", False),
    described("v0.10.0-1-g1234567", False),
    described("v0.10.0-12-g1234567", True),
    described("v0.10.1-0-g7654321", False),
]


def test_a_tag_is_a_release() -> None:
    assert described("v0.10.0-0-g1234567\n", False) == Version("0.10.0")


def test_commits_after_a_tag_lead_to_the_next_release() -> None:
    assert described("v0.10.0-12-g1234567", False) == Version("0.10.1.dev12+g1234567")
    assert described("v0.10.0-0-g1234567", True) == Version("0.10.1.dev0+g1234567.changed")


@pytest.mark.parametrize("said", ["", "v1-0-g1234567", "release-1.2.3-0-g1234567", "v1.2.3-rc1-0-g1234567"])
def test_another_tag_is_refused(said: str) -> None:
    with pytest.raises(NotBuilt, match=r"of the form v1\.2\.3"):
        described(said, False)


def test_later_versions_are_later_for_python_and_for_debian() -> None:
    for earlier, later in pairwise(IN_ORDER):
        assert Pep440(earlier.python) < Pep440(later.python)
        assert _dpkg(earlier.upstream, "lt", later.upstream)


def test_an_upgrade_of_debian_upgrades_the_packages() -> None:
    one, other = (f"0.10.0-{Version('0.10.0').revision(RELEASES[name])}" for name in ("bookworm", "trixie"))
    assert _dpkg(one, "lt", other)


def test_the_working_tree_has_a_version(tmp_path: Path) -> None:
    """Without a tag, with one, with a change, and with a commit after it."""

    def git(*words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.net"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit() -> None:
        git("commit", "--quiet", "--all", "--allow-empty", "--message", "work")

    git("init", "--quiet")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "0.1.0"\n')
    git("add", "pyproject.toml")
    commit()
    assert of_tree(tmp_path).python.startswith("0.1.0.dev1+g")
    git("tag", "v0.1.0")
    assert of_tree(tmp_path) == Version("0.1.0")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "y"\nversion = "0.1.0"\n')
    assert of_tree(tmp_path).python.endswith(".changed")
    commit()
    assert of_tree(tmp_path).python.startswith("0.1.1.dev1+g")
    assert commit_time(tmp_path) > 1_700_000_000


def _dpkg(one: str, how: str, other: str) -> bool:
    return subprocess.run(["dpkg", "--compare-versions", one, how, other], check=False).returncode == 0
