"""Earlier releases of Weft: a commit of this repository, checked out and built below build/releases, once."""

import os
import subprocess
from pathlib import Path

import pytest

from lab.paths import BUILD, ROOT


def checked_out(commit: str, tag: str = "") -> Path:
    """Return the folder of a commit; with a tag, it is that release there. Skips the test if this clone does not have
    the commit."""
    known = subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"], check=False)
    if known.returncode:
        pytest.skip(f"the commit {commit} is not in this clone")
    folder = BUILD / "releases" / commit
    if not (folder / ".git").exists():
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", "--no-tags", str(ROOT), str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", "--detach", commit], check=True)
        (folder / "build").mkdir(exist_ok=True)
        for name in (".packages", ".provisioned"):  # this release has installed the packages of Debian
            (folder / "build" / name).touch()
    if tag:
        subprocess.run(["git", "-C", str(folder), "tag", "--force", tag], check=True, capture_output=True)
    return folder


def make(folder: Path, *words: str) -> None:
    """Run that release's `make`, without the environment and the programs of this one."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAKE", "VIRTUAL"))
    }
    places = environment["PATH"].split(os.pathsep)
    environment["PATH"] = os.pathsep.join(one for one in places if not Path(one).is_relative_to(BUILD))
    subprocess.run(["make", "-C", str(folder), *words], env=environment, check=True)
