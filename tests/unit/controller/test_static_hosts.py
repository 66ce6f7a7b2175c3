"""Static hosts: imported all or none, never given out, and released again."""

from typing import Any

import pytest

from controller.core.addresses import AddressPlan
from controller.core.macs import mac_of
from controller.core.static_hosts import Static, check
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_delegations import Ledger
from tests.unit.controller.test_leases import lan, mac

STATICS = "/addresses/c1-lan/statics"


def host(name: str, address: str, mac: str | None = None) -> dict[str, Any]:
    return {"name": name, "address": address, "mac": mac}


@pytest.mark.parametrize("text", ["02:00:5e:00:00:07", "02-00-5E-00-00-07", "0200.5e00.0007", "02005E000007"])
def test_addresses_are_read_as_vendors_write_them(text: str) -> None:
    assert mac_of(f" {text}\n") == "02:00:5e:00:00:07"


@pytest.mark.parametrize("text", ["", "printer", "02:00:5e:00:00", "02:00:5e:00:00:07:08:09", "zz:00:5e:00:00:07"])
def test_what_is_no_mac_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a MAC address"):
        mac_of(text)


def test_every_complaint_at_once() -> None:
    hosts = [
        Static("nas", "10.1.0.7"),
        Static("Nas", "10.1.0.300"),
        Static("gate", "10.1.0.1"),
        Static("far", "10.2.0.7"),
        Static("other", "10.1.0.7"),
        Static("nas", "10.1.0.9"),
        Static("nas", "10.1.0.7"),
    ]
    found = check(hosts, AddressPlan.of("10.1.0.0/24"), {})
    assert [(number, field) for number, field, _ in found] == [
        (1, "name"),
        (1, "address"),
        (2, "address"),
        (3, "address"),
        (4, "address"),
        (5, "name"),
    ]


async def test_a_static_host_keeps_its_pair_to_itself(controller: Controller) -> None:
    agent = await lan(controller, "10.1.0.0/28")
    added = await controller.post(STATICS, {"hosts": [host("nas", "10.1.0.3"), host("tv", "10.1.0.4")]}, 200)
    assert added == {"added": 2}
    again = [host("nas", "10.1.0.3"), host("cam", "10.1.0.5", "0200.5e00.0007")]
    assert await controller.post(STATICS, {"hosts": again}, 200) == {"added": 1}
    held = [(await agent.lease(endpoint="c1-lan", mac=mac(n))).json().get("address") for n in range(5)]
    assert held == ["10.1.0.6", "10.1.0.8", "10.1.0.10", "10.1.0.12", None]
    usage = await controller.get("/addresses/c1-lan")
    assert (usage["capacity"], usage["excluded"], usage["assigned"], usage["available"]) == (6, 2, 4, 0)
    shown = (await controller.get(STATICS))["items"]
    assert [(h["name"], h["address"], h["mac"]) for h in shown] == [
        ("cam", "10.1.0.5", "02:00:5e:00:00:07"),
        ("nas", "10.1.0.3", None),
        ("tv", "10.1.0.4", None),
    ]
    await controller.delete(f"{STATICS}/tv", 204)
    assert (await agent.lease(endpoint="c1-lan", mac=mac(4))).status_code == 409
    await controller.delete(f"{STATICS}/cam", 204)
    assert (await agent.lease(endpoint="c1-lan", mac=mac(4))).json()["address"] == "10.1.0.4"
    problem(await controller.http.delete(f"/api/v1{STATICS}/cam"), 404)


async def test_all_or_none_and_never_what_somebody_has(controller: Controller) -> None:
    agent = await lan(controller)
    await agent.lease(endpoint="c1-lan", mac=mac(1))
    await controller.post("/devices", {"name": "m2", "mac": mac(2)})
    await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m2"})
    hosts = [host("nas", "10.1.0.9"), host("tv", "10.1.0.3"), host("cam", "10.1.0.5")]
    answer = await controller.http.post(f"/api/v1{STATICS}", json={"hosts": hosts})
    problem(answer, 409, "hosts.1.address", "2 hosts cannot be taken over; none was")
    assert [e["field"] for e in answer.json()["errors"]] == ["hosts.1.address", "hosts.2.address"]
    assert "is leased to" in answer.text and "is reserved for m2" in answer.text
    assert (await controller.get(STATICS))["items"] == []
    refused = await controller.http.post(f"/api/v1{STATICS}", json={"hosts": [host("tv", "10.1.0.9", "x")]})
    problem(refused, 422, "hosts.0.mac")


async def test_they_go_with_their_lan(controller: Controller) -> None:
    await lan(controller)
    await controller.post(STATICS, {"hosts": [host("nas", "10.1.0.9")]}, 200)
    await controller.delete("/endpoints/c1-lan")
    assert (await controller.http.get(f"/api/v1{STATICS}")).status_code == 404


async def test_an_agent_is_told_and_what_it_gave_before_is_shouted(controller: Controller) -> None:
    ledger = Ledger(await lan(controller))
    await ledger.say(blocks=[], want=1)
    hosts = [host("nas", "10.1.0.5"), host("tv", "10.1.0.7")]
    assert await controller.post(STATICS, {"hosts": hosts}, 200) == {"added": 2}
    said = await ledger.say(blocks=[0], entries=[ledger.entry(0, 1), ledger.entry(2, 2)])
    assert said["without"] == [[1, 1], [2, 2]]
    assert [lease["address"] for lease in (await controller.get("/leases"))["items"]] == ["10.1.0.2"]
    clashes = [e["text"] for e in (await controller.get("/events"))["items"] if e["type"] == "lease-clash"]
    assert clashes == ["10.1.0.6 at c1-lan is in a static host's pair, and the agent has leased it"]
