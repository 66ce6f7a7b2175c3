"""The private Python environment of a package: wheels for the target, and the launchers of its programs."""

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from controller.wire.release import DISTRIBUTION
from deploy.packages.command import output
from deploy.packages.failure import NotBuilt
from deploy.packages.package import PREFIX, Environment
from deploy.packages.target import Target
from deploy.packages.version import Version

_PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
_OF_EVERY_WHEEL = ("pyproject.toml", "README.md", "LICENSE")
_LAUNCHER = """#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""
_CONFIGURATION = """home = /usr/bin
include-system-site-packages = {debian}
version = {version}
"""


def make(repository: Path, environment: Environment, target: Target, version: Version, root: Path) -> Path:
    """Make the environment below `root`, and return its folder of distributions. Raises NotBuilt, also if a
    distribution that another one needs is not in it."""
    folder = root / PREFIX.removeprefix("/") / environment.folder
    site = folder / f"lib/python{target.release.python}/site-packages"
    site.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        wheel = _wheel(repository, environment, version, Path(temporary))
        wanted = f"{DISTRIBUTION}[{','.join(environment.extras)}] @ {wheel.as_uri()}"
        pins = repository / "constraints.txt"
        options: list[str | Path] = ["--no-compile", "--target", site, "--constraint", pins, *target.wheel_options()]
        output([*_PIP, "install", *options, wanted], repository)
    shutil.rmtree(site / "bin", ignore_errors=True)
    for place in site.glob("*.dist-info/direct_url.json"):
        _forget(place)  # it names a folder of this machine
    if environment.stubs:
        shutil.copytree(repository / "build/gobgpapi/api", site / "api", ignore=shutil.ignore_patterns("__pycache__"))
    if missing := lacking(site, environment.extras, target):
        raise NotBuilt(f"the environment {environment.folder} lacks {', '.join(missing)}")
    _launchers(environment, target, folder)
    return site


def _forget(file: Path) -> None:
    """Remove a file of a distribution, from its record too."""
    record = file.with_name("RECORD")
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if not line.startswith(f"{file.parent.name}/{file.name},")))
    file.unlink()


def lacking(site: Path, extras: Sequence[str], target: Target) -> list[str]:
    """Return what the distributions in a folder require on the target and what is not there. pip decides what it
    installs by the markers of the machine that it runs on."""
    there = {canonicalize_name(one.name): one for one in distributions(path=[str(site)])}
    waiting = [(canonicalize_name(DISTRIBUTION), extra) for extra in ("", *extras)]
    seen, missing = set(waiting), list[str]()
    while waiting:
        name, extra = waiting.pop()
        for wanted in _required(there[name], extra, target):
            if canonicalize_name(wanted.name) not in there:
                missing.append(f"{wanted} (for {name})")
                continue
            for each in ("", *wanted.extras):
                key = (canonicalize_name(wanted.name), each)
                if key not in seen:
                    seen.add(key)
                    waiting.append(key)
    return sorted(missing)


def _required(distribution: Distribution, extra: str, target: Target) -> list[Requirement]:
    all_ = [Requirement(line) for line in distribution.requires or []]
    values = {**target.markers(), "extra": extra}
    return [one for one in all_ if one.marker is None or one.marker.evaluate(values)]


def _wheel(repository: Path, environment: Environment, version: Version, temporary: Path) -> Path:
    """Build the wheel of the environment's own folders, as git knows their files."""
    named = output(["git", "ls-files", "-z", "--", *environment.sources, *_OF_EVERY_WHEEL], repository)
    tree = temporary / "tree"
    for name in filter(None, named.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repository / name, tree / name)
    if environment.ui:
        add_ui(repository / "build/ui", tree / "controller/server/static")
    project = tree / "pyproject.toml"
    text, count = re.subn(r'^version = ".*"$', f'version = "{version.python}"', project.read_text(), flags=re.MULTILINE)
    if count != 1:
        raise NotBuilt(f"pyproject.toml has {count} lines 'version = …', rather than one")
    project.write_text(text)
    output([*_PIP, "wheel", "--no-deps", "--wheel-dir", temporary, tree], repository)
    [wheel] = temporary.glob("*.whl")
    return wheel


def add_ui(built: Path, to: Path) -> None:
    """Add the files of `make ui`, whose bytes are the same from the same sources. Raises NotBuilt if there are none."""
    if not (built / "index.html").is_file():
        raise NotBuilt(f"the web UI is not in {built}: make ui")
    shutil.copytree(built, to, ignore=shutil.ignore_patterns(".vite"))


def _launchers(environment: Environment, target: Target, folder: Path) -> None:
    programs = folder / "bin"
    programs.mkdir()
    (folder / "pyvenv.cfg").write_text(
        _CONFIGURATION.format(debian=str(environment.debian).lower(), version=target.release.python)
    )
    (programs / "python3").symlink_to(f"/usr/bin/python{target.release.python}")
    for name, where in environment.scripts.items():
        module, _, function = where.partition(":")
        launcher = programs / name
        python = f"{PREFIX}/{environment.folder}/bin/python3"
        launcher.write_text(_LAUNCHER.format(python=python, module=module, function=function))
        launcher.chmod(0o755)
