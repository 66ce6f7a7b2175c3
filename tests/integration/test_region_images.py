"""A region whose cloudlets fetch images before they are needed: registry, agents, weft-images, runc and the controller
are all real."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents.images import layouts
from lab import daemons
from lab.containers.build import IMAGE, build
from lab.paths import GUESTS, LAB, ROOT
from lab.region import Region
from lab.rest import Json, Rest

pytestmark = pytest.mark.lab

HEAD = (ROOT / "lab/topologies/images.policy.yaml").read_text()


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    build(GUESTS)
    found = Region.load(ROOT / "lab/topologies/images.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        found.start(daemons.registry("ctl", address(found)))
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def digest(region: Region) -> str:
    """Push the lab's image of containers to the registry, and return its digest."""
    argv = ["weft", "image", "push", "--plain-http", str(GUESTS / "containers" / IMAGE), f"{where(region)}/work"]

    def pushed() -> str:
        ended = region.execute("ctl", argv)
        return ended.stdout.strip() if ended.returncode == 0 else ""

    said = eventually(pushed, "the image is pushed")
    assert said.startswith(f"{where(region)}/work@sha256:")
    return said.rpartition(":")[2]


def address(region: Region) -> str:
    return region.plan.loopbacks["ctl"]


def where(region: Region) -> str:
    return f"{address(region)}:{daemons.REGISTRY_PORT}"


def eventually(found: Callable[[], str], what: str, seconds: float = 90) -> str:
    deadline = time.monotonic() + seconds
    while not (said := found()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return said


def place(rest: Rest, image: str) -> None:
    rest.apply_policy(f"{HEAD}images:\n  work: {image}\n" if image else HEAD, "images.policy.yaml")


def conditions(rest: Rest) -> dict[str, str]:
    return {row["cloudlet"]: row["condition"] for row in rest.items("/images/work/stores")}


def wait(rest: Rest, seconds: float = 90, **wanted: str) -> None:
    eventually(lambda: "so" if conditions(rest) == wanted else "", f"{wanted}", seconds)


def folder(region: Region, cloudlet: str) -> Path:
    return daemons.store(next(one for one in region.topology.cloudlets if one.name == cloudlet))


def layer(images: Path) -> Path:
    """Return the largest blob of the image."""
    return max((images / "work/blobs/sha256").iterdir(), key=lambda blob: blob.stat().st_size)


def events(rest: Rest, kind: str) -> list[Json]:
    return list(rest.items("/events", type=kind))


@pytest.mark.smoke
def test_images_come_from_the_registry_and_then_from_the_nearest_cloudlet(
    region: Region, rest: Rest, digest: str
) -> None:
    assert conditions(rest) == {}
    source = f"digest: 'sha256:{digest}', registry: 'http://{where(region)}/work'"
    place(rest, f"{{{source}, cloudlets: [c1, c2]}}")
    wait(rest, c1="there", c2="there")
    assert layouts.stored(folder(region, "c1")) == {"work": digest} and layouts.stored(folder(region, "c3")) == {}
    region.processes["registry"].kill()

    # The nearest one has a byte that is wrong: nobody gets it.
    wrong = layer(folder(region, "c2"))
    content = bytearray(wrong.read_bytes())
    content[-1] ^= 1
    wrong.write_bytes(content)
    place(rest, f"{{{source}}}")
    wait(rest, c1="there", c2="there", c3="there")
    assert layer(folder(region, "c3")).read_bytes() == layer(folder(region, "c1")).read_bytes() != wrong.read_bytes()
    eventually(lambda: "so" if {"c3"} <= {one["subject"] for one in events(rest, "image-there")} else "", "c3's event")
    log = (LAB / "c2" / "agent.log").read_text()
    assert wrong.name in log, "c2 says which blob is wrong"


def test_what_a_machine_uses_stays_and_all_else_goes(region: Region, rest: Rest, digest: str) -> None:
    eventually(
        lambda: "so" if any(place["cloudlet"] == "c3" for place in rest.items("/images/work/places")) else "",
        "c3's driver has the image",
    )
    vm = {"name": "k1", "device": "m1", "endpoint": "c3-lan", "driver": "container", "image": "work"}
    rest.post("/vms", vm | {"memory": 128 << 20})
    rest.post("/vms/k1/start")
    eventually(lambda: "so" if rest.get("/vms/k1")["condition"] == "running" else "", "k1 runs")
    place(rest, "")
    wait(rest, c3="there")
    assert not (folder(region, "c1") / "work").exists() and (folder(region, "c3") / "work").is_dir()
    rest.post("/vms/k1/stop")
    eventually(lambda: "so" if rest.get("/vms/k1")["condition"] in ("stopped", "gone") else "", "k1 has stopped")
    rest.delete("/vms/k1")


def test_a_fetch_ends_at_the_quota_of_a_cloudlet_and_says_so(region: Region, rest: Rest, digest: str) -> None:
    config = LAB / "c1" / "agent.toml"
    config.write_text(config.read_text().replace("[images]\n", "[images]\nmost_bytes = 1000\n"))
    region.processes["c1-agent"].kill()
    region.processes["c1-agent"].start()
    region.processes["registry"].start()
    place(rest, f"{{digest: 'sha256:{digest}', registry: 'http://{where(region)}/work', cloudlets: [c1]}}")
    wait(rest, c1="refused", c3="there")
    [row] = [row for row in rest.items("/images/work/stores") if row["cloudlet"] == "c1"]
    assert "have to come" in row["detail"] and "1000" in row["detail"], json.dumps(row)
    assert layouts.stored(folder(region, "c1")) == {}
