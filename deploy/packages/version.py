"""The version of the packages, from git's tags: v0.2.0 makes 0.2.0, and commits after it make 0.2.1.dev7+g0123abc."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from deploy.packages.command import output
from deploy.packages.failure import NotBuilt
from deploy.packages.target import Release

_DESCRIBED = re.compile(r"^v(\d+)\.(\d+)\.(\d+)-(\d+)-g([0-9a-f]+)$")


@dataclass(frozen=True)
class Version:
    """A version. `python` is in the form of PEP 440; all programs report it."""

    python: str

    @property
    def upstream(self) -> str:
        """The version as Debian sorts it: before the release that a development version leads to."""
        return self.python.replace(".dev", "~dev")

    def revision(self, release: Release | None) -> str:
        """Return Debian's revision, which an upgrade of Debian itself raises; 1 if the release makes no difference."""
        return f"1~deb{release.number}" if release else "1"


def described(said: str, changed: bool) -> Version:
    """Return the version for the words of `git describe --long`, and whether the tree differs from the commit. Raises
    NotBuilt."""
    found = _DESCRIBED.match(said.strip())
    if found is None:
        raise NotBuilt(f"git describe says '{said.strip()}': a tag of a release is of the form v1.2.3")
    major, minor, patch, commits = (int(number) for number in found.groups()[:4])
    return _version((major, minor, patch), commits, found[5], changed)


def of_tree(root: Path) -> Version:
    """Return the version of a working tree. Without any tag it leads to the release that pyproject.toml names."""
    changed = bool(output(["git", "status", "--porcelain", "--untracked-files=no"], root).strip())
    if output(["git", "tag", "--list", "v*"], root).strip():
        said = output(["git", "describe", "--tags", "--long", "--match", "v[0-9]*"], root)
        return described(said, changed)
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    count = int(output(["git", "rev-list", "--count", "HEAD"], root))
    commit = output(["git", "rev-parse", "--short=7", "HEAD"], root).strip()
    return Version(f"{declared}.dev{count}{_local(commit, changed)}")


def commit_time(root: Path) -> int:
    """Return when the commit was made, in seconds since 1970: the time of all files in the packages."""
    return int(output(["git", "log", "-1", "--format=%ct"], root))


def _version(tag: tuple[int, int, int], commits: int, commit: str, changed: bool) -> Version:
    major, minor, patch = tag
    if commits == 0 and not changed:
        return Version(f"{major}.{minor}.{patch}")
    return Version(f"{major}.{minor}.{patch + 1}.dev{commits}{_local(commit, changed)}")


def _local(commit: str, changed: bool) -> str:
    return f"+g{commit}{'.changed' if changed else ''}"
