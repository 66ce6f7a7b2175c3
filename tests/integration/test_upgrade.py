"""docs/operate/upgrade.md, step by step, with pings between members: none is lost."""

import json
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.paths import BIN, LAB, ROOT
from lab.ping import PingStream
from lab.region import Region
from lab.rest import Rest

pytestmark = pytest.mark.lab

PING_SECONDS = 0.005


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/small.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        yield found


def weft(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(ROOT / "build/venv/bin/weft"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def well(*arguments: str, seconds: float = 60) -> str:
    """Wait until a `weft` command reports no problem; return its output."""
    deadline = time.monotonic() + seconds
    while (done := weft(*arguments)).returncode:
        assert time.monotonic() < deadline, f"weft {' '.join(arguments)}: {done.stdout}{done.stderr}"
        time.sleep(0.2)
    return done.stdout


def restart(region: Region, name: str, number: int = signal.SIGTERM) -> None:
    """Restart a process like systemctl: send SIGTERM (or another signal), and start the process when it has ended."""
    process = region.processes[name]
    if number == signal.SIGTERM:
        process.stop()
    else:
        process.kill(number)
    process.start()


def replaced(program: Path, directory: Path) -> str:
    """Replace a program: write the new file beside the old one, then rename it."""
    beside = directory / f"{program.name}.new"
    shutil.copy2(program, beside)
    return str(beside.rename(directory / program.name))


def under_ping(region: Region, step: Callable[[], None]) -> None:
    pairs = [("m1", "v2"), ("m2", "v1"), ("n1", "n2"), ("n2", "n1")]
    streams: list[PingStream] = []
    try:
        streams += [region.ping(one, region.address(other), PING_SECONDS) for one, other in pairs]
        time.sleep(0.5)
        step()
        time.sleep(1)
    finally:
        results = [stream.stop() for stream in streams]
    assert all(result.sent > 100 for result in results)
    assert [result.lost for result in results] == [0] * len(pairs)


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
        with sqlite3.connect(database) as source, sqlite3.connect(database.with_name("copy.db")) as copy:
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
