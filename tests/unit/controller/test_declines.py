"""Addresses that clients found in use, in the controller's reports, and the settings that hosts receive."""

from datetime import timedelta
from typing import Any

import pytest

from controller.core.clock import now
from controller.leases import static_hosts
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.policies import done
from tests.unit.controller.test_delegations import Ledger, held, ledger, mac

__all__ = ["ledger"]


def declined(number: int, client: int, kind: str = "md", *, whole: bool = True) -> dict[str, Any]:
    return {"number": number, "kind": kind, "mac": mac(client), "left": 3600, "whole": whole}


async def found(controller: Controller) -> list[tuple[str, str, bool]]:
    rows = (await controller.get("/addresses/c1-lan/statics"))["items"]
    return [(row["name"], row["address"], row["until"] is not None) for row in rows]


async def told(controller: Controller, type: str) -> list[str]:
    return [event["text"] for event in (await controller.get("/events"))["items"] if event["type"] == type]


async def test_a_declined_pair_is_nobodys_and_its_device_has_another(controller: Controller, ledger: Ledger) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1)])
    for _ in range(2):  # the answer may be lost
        said = await ledger.say(declined=[declined(0, 1)])
    assert [0, 0] in said["without"]
    assert await found(controller) == [("declined-10-1-0-2", "10.1.0.2", True)]
    assert await held(controller) == {}
    [text] = await told(controller, "address-declined")
    assert text.startswith("10.1.0.2 at c1-lan is in use by somebody else, says the MD of m1 (02:00:5e:00:00:01)")
    await ledger.say(entries=[ledger.entry(1, 1, device="m1")])
    assert await held(controller) == {"10.1.0.4": "m1"}
    await ledger.say(declined=[declined(1, 1)], entries=[ledger.entry(2, 1, device="m1")])
    assert await held(controller) == {"10.1.0.6": "m1"}, "also when both are told at once"


async def test_it_is_given_out_again_after_its_time(
    controller: Controller, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1)], declined=[])
    await ledger.say(declined=[declined(0, 1)])
    await controller.region.leases.static_hosts.sweep()
    assert await found(controller)
    monkeypatch.setattr(static_hosts, "now", lambda: now() + timedelta(hours=2))
    await controller.region.leases.static_hosts.sweep()
    assert await found(controller) == []
    assert (await ledger.say())["without"] == []
    assert await told(controller, "address-freed") == ["10.1.0.2 at c1-lan may be given out again"]
    await ledger.say(entries=[ledger.entry(0, 2)])
    assert list(await held(controller)) == ["10.1.0.2"]


async def test_an_operator_frees_it_or_says_whose_it_is(controller: Controller, ledger: Ledger) -> None:
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1), ledger.entry(1, 2)])
    await ledger.say(declined=[declined(0, 1), declined(1, 2)])
    await controller.delete("/addresses/c1-lan/statics/declined-10-1-0-2", 204)
    host = {"name": "printer", "address": "10.1.0.4"}
    assert (await controller.post("/addresses/c1-lan/statics", {"hosts": [host]}, 200))["added"] == 1
    assert await found(controller) == [("printer", "10.1.0.4", False)]
    assert (await ledger.say())["without"] == [[1, 1]]


async def test_half_a_pair_stays_its_devices(controller: Controller, ledger: Ledger) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1), ledger.entry(0, 2, "vm")])
    await ledger.say(declined=[declined(0, 2, "vm", whole=False)])
    assert await held(controller) == {"10.1.0.2": "m1"}
    assert await found(controller) == []
    assert "10.1.0.3 at c1-lan is in use" in (await told(controller, "address-declined"))[0]


async def test_what_is_not_of_the_lan_is_refused(ledger: Ledger) -> None:
    await ledger.say(blocks=[], want=1)
    problem(await ledger.ask(declined=[declined(10_000, 1)]), 422, "declined")


async def test_hosts_are_told_what_the_policy_says(controller: Controller, ledger: Ledger) -> None:
    assert "hosts" not in await ledger.say(blocks=[], want=1), "agents of a former release know no such field"
    policy = """
    apiVersion: weft/v1
    vcps: {}
    addresses:
      hosts: {dns: [10.0.0.53], domain: region.example}
      lans: {c1-lan: {hosts: {domain: cafe.example}}}
    """
    await done(controller, "apply", policy)
    said = (await ledger.say())["hosts"]
    assert (said["dns"], said["domain"]) == (["10.0.0.53"], "cafe.example")


async def test_a_reservation_waits_for_the_leases_on_the_old_pair(controller: Controller, ledger: Ledger) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1)])
    reserved = "apiVersion: weft/v1\nvcps: {}\naddresses: {lans: {c1-lan: {reservations: {m1: 10.1.0.20}}}}\n"
    await done(controller, "apply", reserved)
    [row] = (await controller.get("/reservations/policy"))["items"]
    assert (row["md"], row["vm"], row["has"], row["in_force"]) == ("10.1.0.20", "10.1.0.21", "10.1.0.2", False)
    [known] = (await ledger.say(ask=[{"mac": mac(1)}]))["known"]
    assert known["number"] == 0, "it is leased"
    [known] = (await ledger.say(entries=[ledger.entry(0, 1, left=0)], ask=[{"mac": mac(1)}]))["known"]
    assert known["number"] == 9
    [row] = (await controller.get("/reservations/policy", endpoint="c1-lan"))["items"]
    assert (row["has"], row["in_force"]) == ("10.1.0.20", True)
    await controller.post("/devices", {"name": "m2", "mac": mac(2)})
    assert (await controller.get("/reservations/policy", device="m2"))["items"] == []
