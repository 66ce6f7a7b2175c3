"""The third-party parts of an installation of Weft: Python distributions, and modules in the Go programs."""

import re
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from controller.wire.release import DISTRIBUTION

EXTRAS = ("controller", "agent", "cli", "libvirt", "postgres", "traces")
"""The extras of pyproject.toml that are shipped; the lab and the development and test tools are not."""

PROGRAMS = ("weft-routeserver", "weft-transfer", "weft-images", "terraform-provider-weft", "gobgpd", "gobgp")

STANDARD = "stdlib"
"""Go's standard library, as the Go vulnerability database calls it."""

_OWN = "weft/"
"""Begins the paths of Weft's own modules, which one of its programs may take from another."""

_MODULE = re.compile(r"^\t(?:mod|dep|=>)\t(\S+)\t(v\S+)")
_TOOLCHAIN = re.compile(r"^/.*: go(\d\S*)")


def distributions() -> dict[str, str]:
    """Return the names, normalised (PEP 503), and versions of all distributions that the extras need, as installed
    here."""
    found: dict[str, str] = {}
    waiting = [(DISTRIBUTION, extra) for extra in ("", *EXTRAS)]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        try:
            there = distribution(name)
        except PackageNotFoundError:
            continue  # for other systems, or other releases of Python
        if name != DISTRIBUTION:
            found[name] = there.version
        for line in there.requires or []:
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                for each in ("", *wanted.extras):
                    key = (normal(wanted.name), each)
                    if key not in seen:
                        seen.add(key)
                        waiting.append(key)
    return found


def normal(name: str) -> str:
    """Return a distribution's name, normalised (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def modules(programs: Path) -> dict[str, str]:
    """Return the paths and versions of the modules that are built into the Go programs, by `go version -m`."""
    paths = [str((programs / name).absolute()) for name in PROGRAMS]
    said = subprocess.run(["go", "version", "-m", *paths], capture_output=True, text=True, check=True).stdout
    return of_go_version(said)


def of_go_version(said: str) -> dict[str, str]:
    """Parse the output of `go version -m`. The standard library has the version of the toolchain, the oldest if there
    are several."""
    lines = [line for each in said.splitlines() if (line := _MODULE.match(each))]
    found = {(line[1], line[2]) for line in lines if not line[1].startswith(_OWN)}
    toolchains = [line[1] for each in said.splitlines() if (line := _TOOLCHAIN.match(each))]
    oldest = min(toolchains, key=lambda version: [int(number) for number in re.findall(r"\d+", version)])
    return dict(sorted(found)) | {STANDARD: oldest}
