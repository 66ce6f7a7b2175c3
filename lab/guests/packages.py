"""Debian packages as files: fetched with the machine's own apt, unpacked with dpkg-deb, never installed."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.errors import LabError

_MERGED = ("bin", "sbin", "lib", "lib64")
"""Links to the directories below usr, which Debian's installer makes, not a package."""

APT = ["apt-get", "-o", "APT::Sandbox::User=root", "-qq"]


def depends(name: str, prefix: str) -> str:
    """Return the package beginning with `prefix` that the candidate of the package `name` depends on."""
    for line in _with_lists(["apt-cache", "show", "--no-all-versions", name]).splitlines():
        if line.startswith("Depends: "):
            for one in line.removeprefix("Depends: ").split(", "):
                if one.startswith(prefix):
                    return one.split()[0]
    raise LabError(f"package {name} depends on nothing called {prefix}…", "does apt know a Debian with that package?")


def current(name: str) -> str:
    """Return the name under which this Debian has the package `name`: its own, or that of the package that provides it
    (Debian 13 renames libraries whose time_t grew to 64 bits: libelf1 is libelf1t64)."""
    if "Candidate: (none)" not in _with_lists(["apt-cache", "policy", name]):
        return name
    _, _, providers = _with_lists(["apt-cache", "showpkg", name]).partition("Reverse Provides:")
    for line in providers.splitlines():
        if line.startswith(name):
            return line.split()[0]
    return name


def with_dependencies(names: Sequence[str]) -> list[str]:
    """Return the packages that apt would install on a machine that has none at all, those names included."""
    with TemporaryDirectory(prefix="weft-apt-") as folder:
        status = Path(folder) / "status"
        status.touch()
        argv = [*APT, "-o", f"Dir::State::status={status}", "--no-install-recommends", "--simulate", "install", *names]
        said = _with_lists(argv)
    return [line.split()[1] for line in said.splitlines() if line.startswith("Inst ")]


def path(unpacked: Path, name: str) -> Path:
    """Return where the unpacked packages have `name`, such as bin/ip: there, or below usr (in Debian 13, all)."""
    below_usr = unpacked / "usr" / name
    return below_usr if below_usr.exists() else unpacked / name


def fetch(names: Sequence[str], directory: Path) -> list[Path]:
    """Return the packages' files in `directory`, at the versions that apt would install; apt checks their signatures.
    Without a network the files that are there already are used."""
    directory.mkdir(parents=True, exist_ok=True)
    try:
        _with_lists([*APT, "download", *names], directory)
    except LabError:
        if not all(any(directory.glob(f"{name}_*.deb")) for name in names):
            raise
    return [_newest(directory, name) for name in names]


def unpack(files: Sequence[Path], root: Path) -> None:
    for file in files:
        _run(["dpkg-deb", "--extract", str(file), str(root)])


def root(files: Sequence[Path], tree: Path, unused: Sequence[str]) -> None:
    """Unpack packages as a system's root, without the folders `unused`."""
    unpack(files, tree)
    for name in _MERGED:
        if not (tree / name).exists():
            (tree / name).symlink_to(f"usr/{name}")
    for name in unused:
        shutil.rmtree(tree / name, ignore_errors=True)


def _newest(directory: Path, name: str) -> Path:
    found = sorted(directory.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise LabError(f"apt-get downloaded no {name} into {directory}")
    for old in found[:-1]:
        old.unlink()
    return found[-1]


def _with_lists(argv: Sequence[str], directory: Path | None = None) -> str:
    """Run a command, and once more with new package lists if it fails: old lists name versions that no mirror has any
    more."""
    try:
        return _run(argv, directory)
    except LabError:
        _run([*APT, "update"])
        return _run(argv, directory)


def _run(argv: Sequence[str], directory: Path | None = None) -> str:
    done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"'{' '.join(argv)}' failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
