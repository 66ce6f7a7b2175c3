"""docs/operate/install.md: its commands, as they stand there, on four hosts with systemd that have nothing but Debian;
then an upgrade of the region's packages under traffic, and the way back."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.packages import version
from lab.errors import LabError
from lab.paths import ROOT
from lab.patience import until
from lab.ping import PingStream
from tests.integration.towns import SERVER, Town, build, signing_key, towns

pytestmark = pytest.mark.lab

PAGE = ROOT / "docs/operate/install.md"
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
    """Commands of the page for some hosts; `line` is where they begin."""

    hosts: tuple[str, ...]
    line: int
    script: str


def blocks() -> list[Block]:
    """Return all blocks of commands, in the page's order."""
    text = PAGE.read_text()
    return [
        Block(tuple(found[1].split(",")), text[: found.start()].count("\n") + 2, found[2])
        for found in _BLOCK.finditer(text)
    ]


@pytest.fixture(scope="module")
def present() -> version.Version:
    """The version of this tree's packages, whatever is committed meanwhile."""
    return version.of_tree(ROOT)


@pytest.fixture(scope="module")
def following(present: version.Version) -> version.Version:
    """The next minor release, in which packages have the same programs: releases that work together are consecutive."""
    major, minor = present.python.split(".")[:2]
    return version.Version(f"{major}.{int(minor) + 1}.0")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, present: version.Version, following: version.Version) -> Path:
    """A repository with this tree's packages in two versions."""
    folder = tmp_path_factory.mktemp("packages")
    with signing_key(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(version, "of_tree", lambda root: present)
        build(folder)
        patch.setattr(version, "of_tree", lambda root: following)
        return build(folder)


@pytest.fixture(scope="module")
def region(
    tmp_path_factory: pytest.TempPathFactory, repository: Path, present: version.Version
) -> Iterator[dict[str, Town]]:
    """The region that the page leads to, with the earlier of the two versions."""
    with towns(tmp_path_factory.mktemp("towns"), repository) as hosts:
        for town in hosts.values():
            _pin(town, f"{present.upstream}-*")
        for block in blocks():
            script = block.script.replace("http://packages.example.net", f"http://{SERVER}")
            for name in block.hosts:
                begun = time.monotonic()
                done = hosts[name].run(script)
                took = time.monotonic() - begun
                print(f"-- {PAGE.name}:{block.line} on {name}, {took:.1f} s\n{done.stdout}{done.stderr}", flush=True)
                assert done.returncode == 0, f"{PAGE.name}:{block.line} on {name}:\n{done.stdout}{done.stderr}"
        yield hosts


def said(town: Town, script: str) -> str:
    """Return what a script prints, which must not fail."""
    done = town.run(script)
    assert done.returncode == 0, f"{script}:\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


def test_no_unit_has_failed(region: dict[str, Town]) -> None:
    for town in region.values():
        assert said(town, "systemctl --failed --plain --no-legend") == ""


def test_programs_have_manual_pages_and_one_version(region: dict[str, Town], present: version.Version) -> None:
    town = region["town1"]
    programs = ("weft", "weft-controller", "weft-agent", "weft-routeserver")
    versions = {said(town, f"{name} --version").split()[-1] for name in programs}
    assert versions == {present.python}
    for name in programs:
        assert said(town, f"ls /usr/share/man/man[18]/{name}.[18].gz")


def test_only_root_and_weft_read_secrets(region: dict[str, Town]) -> None:
    open_ = said(region["town1"], "find /etc/weft /var/lib/weft /var/lib/weft-agent -type f -perm /o+r")
    assert open_ == ""


def test_a_backup_can_be_made_at_once(region: dict[str, Town]) -> None:
    said(region["town1"], "systemctl start weft-backup")
    assert said(region["town1"], "ls /var/lib/weft-backups").startswith("weft-")


def test_an_upgrade_and_the_way_back_lose_nothing(
    region: dict[str, Town], present: version.Version, following: version.Version
) -> None:
    begun = "systemctl show --property ActiveEnterTimestampMonotonic --value weft-gobgpd"
    speaker = said(region["town1"], begun)
    with PingStream("town1", "10.2.0.1", 0.01, source="10.1.0.1") as stream:
        for wanted, steps in ((following, STEPS), (present, STEPS[::-1])):
            _install(region, f"{wanted.upstream}-*", steps)
            assert said(region["town1"], "weft-agent --version").split()[-1] == wanted.python
        result = stream.stop()
    assert result.sent > 1000 and result.lost == 0, f"{result.lost} of {result.sent}"
    assert said(region["town1"], begun) == speaker, "gobgpd is the same, and was not to be restarted"
    assert said(region["town1"], "weft doctor")


def _install(region: dict[str, Town], wanted: str, steps: Sequence[tuple[str, str]]) -> None:
    """Install another version of everything, in the order of docs/operate/upgrade.md. Between the two replicas the
    doctor names their releases, and nothing else."""
    for town in region.values():
        _pin(town, wanted)
    for name, packages in steps:
        said(region[name], f"apt-get install -y --allow-downgrades {packages}")
        until(lambda: _differing(region["town1"]) <= {"release-skew"}, f"{name} has {packages}, and all is well", 60)
    assert _differing(region["town1"]) == set()


def _differing(town: Town) -> set[str]:
    """Return the kinds of differences that the doctor finds. Raises LabError while it cannot be asked."""
    done = town.run("weft doctor --output json")
    if not done.stdout.strip().startswith("{"):
        raise LabError(f"weft doctor: {done.stdout}{done.stderr}")
    return {found["kind"] for found in json.loads(done.stdout)["differences"]}


def _pin(town: Town, wanted: str) -> None:
    """Have apt install these versions of Weft's packages."""
    pin = f"Package: weft-*\nPin: version {wanted}\nPin-Priority: 1001\n"
    (town.host.root / "etc/apt/preferences.d/weft").write_text(pin)
