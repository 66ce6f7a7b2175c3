"""A region of an earlier release is upgraded to this one, part by part (docs/operate/upgrade.md), under pings: none is
lost, the inventory stays, and changes go on. WEFT_UPGRADE_FROM is the earlier release, a commit; it is built once."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.paths import BIN, ROOT
from lab.region import Region
from lab.state import Record
from lab.watch import Watch
from tests.integration.releases import checked_out, make
from tests.integration.upgrading import restart, under_ping, well

pytestmark = [pytest.mark.lab, pytest.mark.nightly]

FROM = os.environ.get("WEFT_UPGRADE_FROM", "e297bc5")
"""By default the last commit before the packages of `controller/` and `agents/` were made."""

PROGRAMS = ("build/.python", "build/gobgpapi/.generated", "build/bin/weft-routeserver")

KEPT = {
    "cloudlets": ("cloudlet", "list"),
    "pools": ("vcp", "list"),
    "devices": ("device", "list"),
    "leases": ("lease", "list"),
    "policy": ("policy", "history"),
}
"""The commands whose output an upgrade does not change, but for times and versions."""

CHANGING = {"version", "last_seen", "expires_at", "place"}
"""Fields that change by themselves: a device's place is known a while after its lease."""


@pytest.fixture(scope="module")
def release() -> Path:
    """The folder of the earlier release, with its programs."""
    folder = checked_out(FROM)
    if not (folder / "build/bin/weft-routeserver").exists():
        make(folder, *PROGRAMS)
    return folder


class Upgrade:
    """A region whose programs are of the earlier release until they are upgraded."""

    def __init__(self, region: Region, release: Path) -> None:
        self.region, self._release = region, release
        self._ours: dict[str, tuple[list[str], dict[str, str]]] = {}

    def earlier(self, name: str, record: Record) -> Record:
        """Let a daemon of Weft run the earlier release's program."""
        programs = {sys.executable: "build/venv/bin/python", str(BIN / "weft-routeserver"): PROGRAMS[-1]}
        if record.argv[0] in programs:
            self._ours[name] = record.argv, record.env
            record.argv = [str(self._release / programs[record.argv[0]]), *record.argv[1:]]
            path = os.pathsep.join((str(self._release), str(self._release / "build/gobgpapi")))
            plain = {name: value for name, value in record.env.items() if not name.startswith("WEFT_UI_")}  # not built
            record.env = plain | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
        return record

    def upgrade(self, name: str) -> None:
        record = self.region.processes[name].record
        record.argv, record.env = self._ours.pop(name)
        restart(self.region, name)

    @property
    def left(self) -> set[str]:
        """The daemons that are of the earlier release."""
        return set(self._ours)


@pytest.fixture(scope="module")
def upgrade(release: Path) -> Iterator[Upgrade]:
    region = Region.load(ROOT / "lab/topologies/small.yaml")
    found = Upgrade(region, release)
    with pytest.MonkeyPatch.context() as patch, region.occupied():
        start = Watch.start

        def of_the_earlier_release(watch: Watch, records: dict[str, Record]) -> None:
            start(watch, {name: found.earlier(name, record) for name, record in records.items()})

        patch.setattr(Watch, "start", of_the_earlier_release)
        for phase in (region.build, region.enrol, region.apply_policy, region.lease):
            phase(print)
        patch.undo()
        yield found


def bare(found: object) -> object:
    """Return an answer without the fields that change by themselves."""
    if isinstance(found, dict):
        return {key: bare(value) for key, value in found.items() if key not in CHANGING}
    return [bare(value) for value in found] if isinstance(found, list) else found


def known(now: object, before: object) -> object:
    """Return an answer without the fields that the earlier release does not have."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {key: known(value, before[key]) for key, value in now.items() if key in before}
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [known(*each) for each in zip(now, before, strict=True)]
    return now


def inventory() -> dict[str, object]:
    return {name: bare(json.loads(well(*words, "-o", "json"))) for name, words in KEPT.items()}


def test_a_region_is_upgraded_part_by_part(upgrade: Upgrade) -> None:
    region = upgrade.region
    cloudlets = [cloudlet.name for cloudlet in region.topology.cloudlets]
    agents = {f"{name}-agent" for name in cloudlets}
    assert upgrade.left == {"controller", *region.topology.route_servers, *agents}
    before = inventory()

    def step() -> None:
        for name in region.topology.route_servers:
            upgrade.upgrade(name)
            well("route", "servers")
            well("doctor")
        upgrade.upgrade("controller")
        well("doctor")
        for name in cloudlets:
            upgrade.upgrade(f"{name}-agent")
            well("cloudlet", "list")
            well("doctor")

    under_ping(region, step)
    assert not upgrade.left
    assert known(inventory(), before) == before
    under_ping(region, lambda: change_and_back(region))


def change_and_back(region: Region) -> None:
    """Make a pool, put a member in, and undo both: route servers, controller and agents of this release agree."""
    for words in (("add", "green", "--flavour", "vpls"), ("join", "green", "c3-lan"), ("leave", "green", "c3-lan")):
        well("vcp", *words)
        well("doctor")
    well("vcp", "remove", "green")
    for process in region.processes.values():
        assert process.alive(), process.name
