"""A device walks from one cloudlet to the next: the region knows its place, and no other device can forge its move."""

import time
from collections.abc import Iterator

import pytest

from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest
from lab.walk import walk

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/small.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


def place(rest: Rest, device: str = "m1") -> Json:
    return dict(rest.get(f"/devices/{device}")["place"] or {})


def told(rest: Rest, type: str) -> list[Json]:
    return [event for event in rest.get("/events", limit="1000")["items"] if event["type"] == type]


@pytest.mark.parametrize(("device", "endpoint"), [("m1", "c1-lan"), ("m2", "c2-lan"), ("n1", "e1-lan")])
def test_everybody_is_where_they_lease(rest: Rest, device: str, endpoint: str) -> None:
    until(lambda: place(rest, device).get("endpoint") == endpoint, lambda: rest.items("/sightings"))


def test_packets_with_its_address_from_elsewhere_move_nobody(region: Region, rest: Rest) -> None:
    """m2, at c2, sends with m1's address: to the VM's LAN over the tunnel, and on its own LAN."""
    before = place(rest)
    m1 = region.address("m1")
    region.execute("m2", ["ip", "addr", "add", f"{m1}/32", "dev", "eth0"], check=True)
    region.execute("m2", ["ip", "route", "add", "10.1.0.0/24", "dev", "eth0", "src", m1], check=True)
    try:
        region.execute("m2", ["ping", "-c", "20", "-i", "0.05", "-W", "1", "-I", m1, region.address("v1")])
        until(lambda: told(rest, "device-spoofed"), lambda: region.processes["c2-agent"].last_words(20), 10)
    finally:
        region.execute("m2", ["ip", "addr", "del", f"{m1}/32", "dev", "eth0"])
        region.execute("m2", ["ip", "route", "del", "10.1.0.0/24"])
    (event, *_) = told(rest, "device-spoofed")
    assert event["subject"] == "m1" and event["data"]["address"] == m1
    time.sleep(3)
    assert place(rest) == before


def test_speaking_to_another_lan_is_nothing_suspicious(region: Region, rest: Rest) -> None:
    """m2 reaches m1's VM through its gateway: the packets have m2's address and a gateway's MAC."""
    before = len(told(rest, "device-spoofed"))
    done = region.execute("m2", ["ping", "-c", "5", "-i", "0.1", "-W", "1", region.address("v1")])
    assert done.returncode == 0, done.stdout

    def seen() -> bool:
        text = rest.http.get("/metrics").text
        return 'weft_sightings_total{how="packet",worth="seen"}' in text

    until(seen, lambda: rest.http.get("/metrics").text, 10)
    assert len(told(rest, "device-spoofed")) == before and place(rest, "m2")["endpoint"] == "c2-lan"


def test_a_device_that_walks_on_is_followed_within_seconds(region: Region, rest: Rest) -> None:
    walk(region, "m1", "c2")
    until(lambda: place(rest)["seen_endpoint"] == "c2-lan", lambda: place(rest))
    seconds = until(lambda: place(rest)["endpoint"] == "c2-lan", lambda: place(rest), 10)
    (event,) = [e for e in told(rest, "device-seen") if e["subject"] == "m1" and e["data"]["before"]]
    print(f"taken to be at c2-lan {event['data']['after_seconds']:.2f} s after its lease there ({seconds:.2f} s)")
    assert 2.0 <= event["data"]["after_seconds"] < 4.0
    assert [
        lease["address"] for lease in rest.items("/leases", device="m1", endpoint="c2-lan") if lease["kind"] == "md"
    ]


def test_it_is_followed_back(region: Region, rest: Rest) -> None:
    walk(region, "m1", "c1")
    until(lambda: place(rest)["endpoint"] == "c1-lan", lambda: place(rest), 20)
    assert place(rest)["turns"] > 1.5


def test_what_is_seen_while_the_controller_is_away_is_told_later(region: Region, rest: Rest) -> None:
    controller = region.processes["controller"]
    controller.kill()
    walk(region, "m1", "c2")
    time.sleep(5)
    controller.start()
    until(rest.ready, lambda: "the controller")
    until(lambda: place(rest)["endpoint"] == "c2-lan", lambda: place(rest), 40)
