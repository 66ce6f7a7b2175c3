"""Installations by the manual: the commands of a page on hosts, and other versions of packages afterwards."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab.errors import LabError
from lab.patience import until
from tests.integration.towns import SERVER, Town

STEPS = (
    ("town1", "weft-routeserver"),
    ("town2", "weft-routeserver"),
    ("town2", "weft-controller weft-cli"),
    ("town1", "weft-controller weft-cli"),
    *((name, "weft-agent") for name in ("town1", "town2", "town3")),
)
"""The hosts and packages of an upgrade, in its order; the way back has the opposite one (docs/operate/upgrade.md)."""

_BLOCK = re.compile(r"^```sh on=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """Commands of a page for some hosts; `line` is where they begin."""

    hosts: tuple[str, ...]
    line: int
    script: str


def blocks(page: Path) -> list[Block]:
    """Return all blocks of commands, in the page's order."""
    text = page.read_text()
    return [
        Block(tuple(found[1].split(",")), text[: found.start()].count("\n") + 2, found[2])
        for found in _BLOCK.finditer(text)
    ]


def follow(page: Path, hosts: Mapping[str, Town]) -> None:
    """Run all blocks of a page on their hosts; each must succeed."""
    for block in blocks(page):
        script = block.script.replace("http://packages.example.net", f"http://{SERVER}")
        for name in block.hosts:
            begun = time.monotonic()
            done = hosts[name].run(script)
            took = time.monotonic() - begun
            print(f"-- {page.name}:{block.line} on {name}, {took:.1f} s\n{done.stdout}{done.stderr}", flush=True)
            assert done.returncode == 0, f"{page.name}:{block.line} on {name}:\n{done.stdout}{done.stderr}"


def said(town: Town, script: str) -> str:
    """Return what a script prints, which must not fail."""
    done = town.run(script)
    assert done.returncode == 0, f"{script}:\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


def pin(town: Town, wanted: str) -> None:
    """Have apt install these versions of Weft's packages."""
    text = f"Package: weft-*\nPin: version {wanted}\nPin-Priority: 1001\n"
    (town.host.root / "etc/apt/preferences.d/weft").write_text(text)


def install(town: Town, packages: str) -> None:
    """Have a host install packages, older ones too."""
    said(town, f"apt-get install -y --allow-downgrades {packages}")


def change(region: Mapping[str, Town], steps: Sequence[tuple[str, str]]) -> None:
    """Install the pinned versions, in the order of docs/operate/upgrade.md. After each step the doctor may name
    releases that do not work together, and nothing else; in the end it finds nothing."""
    for name, packages in steps:
        install(region[name], packages)
        until(lambda: differing(region["town1"]) <= {"release-skew"}, partial(_unwell, region, name, packages), 60)
    assert differing(region["town1"]) == set()


def _unwell(region: Mapping[str, Town], name: str, packages: str) -> str:
    found = region["town1"].run("weft doctor")
    log = region[name].run(f"systemctl --no-pager --full --lines 20 status {packages}")
    return f"{name} has {packages}, and all is well:\n{found.stdout}{found.stderr}{log.stdout}{log.stderr}"


def differing(town: Town) -> set[str]:
    """Return the kinds of differences that the doctor finds. Raises LabError while it cannot be asked."""
    done = town.run("weft doctor --output json")
    if not done.stdout.strip().startswith("{"):
        raise LabError(f"weft doctor: {done.stdout}{done.stderr}")
    return {found["kind"] for found in json.loads(done.stdout)["differences"]}
