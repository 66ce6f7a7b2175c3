"""docs/operate/upgrade.md, step by step, with pings between members: none is lost."""

import json
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.paths import BIN, LAB, ROOT
from lab.region import Region
from lab.rest import Rest
from tests.integration.upgrading import restart, under_ping, weft, well

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/small.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        yield found


def replaced(program: Path, directory: Path) -> str:
    """Replace a program: write the new file beside the old one, then rename it."""
    beside = directory / f"{program.name}.new"
    shutil.copy2(program, beside)
    return str(beside.rename(directory / program.name))


@pytest.fixture(autouse=True)
def before(region: Region) -> None:
    well("doctor")
    assert "on trial" not in weft("change", "list").stdout
    LAB.mkdir(exist_ok=True)


def test_upgrade_of_the_route_servers(region: Region) -> None:
    def step() -> None:
        for name in region.topology.route_servers:
            started = started_at(name)
            region.processes[name].record.argv[0] = replaced(BIN / "weft-routeserver", LAB / name)
            restart(region, name)
            well("route", "servers")
            servers = {server["name"]: server for server in json.loads(well("route", "servers", "-o", "json"))}
            assert servers[name]["status"]["version"] and servers[name]["status"]["confirmed"]
            assert started_at(name) != started
            well("doctor")

    under_ping(region, step)


def test_upgrade_of_a_route_server_that_cannot_read_its_state(region: Region) -> None:
    """The worst downgrade: the older program refuses the state that the newer one wrote."""
    state = LAB / "rs1" / "rules"

    def step() -> None:
        process = region.processes["rs1"]
        process.stop()
        document = json.loads((state / "ruleset.json").read_text())
        (state / "ruleset.json").write_text(json.dumps(document | {"of_a_later_release": True}))
        process.start()
        deadline = time.monotonic() + 10
        while process.alive():
            assert time.monotonic() < deadline, "it runs with a state that it does not understand"
            time.sleep(0.05)
        assert "ruleset.json" in process.last_words() and "of_a_later_release" in process.last_words()
        state.rename(state.with_name("state.away"))
        process.start()
        well("route", "servers")
        well("doctor")

    under_ping(region, step)


@pytest.mark.smoke
def test_upgrade_of_the_controller(region: Region) -> None:
    def step() -> None:
        database = LAB / "controller" / "weft.db"
        places = database, database.with_name("copy.db")
        with closing(sqlite3.connect(places[0])) as source, closing(sqlite3.connect(places[1])) as copy:
            source.backup(copy)
        restart(region, "controller")
        well("doctor")
        with Rest(timeout=60) as rest:
            left = rest.delete("/vcps/blue/members/c2-lan", dry_run="true")
        assert {receipt["route_server"] for receipt in left["route_servers"]} == {"rs1", "rs2"}

    under_ping(region, step)


def test_upgrade_of_the_agents(region: Region) -> None:
    def step() -> None:
        for cloudlet in region.topology.cloudlets:
            restart(region, f"{cloudlet.name}-agent")
            if cloudlet.pe == "vpls":
                restart(region, f"{cloudlet.name}-gobgpd", signal.SIGKILL)
            well("cloudlet", "list")
            well("doctor")

    under_ping(region, step)


def started_at(name: str) -> str:
    try:
        with Rest(timeout=10) as rest:
            found = {server["name"]: server for server in rest.get("/route-servers")["items"]}
    except LabError as error:
        pytest.fail(str(error))
    return str(found[name]["status"]["started_at"])
