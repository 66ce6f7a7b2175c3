"""Machines in two cloudlets with one DHCP client id."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.core.clones import Use, clones
from controller.core.doctor import compare_clones
from tests.unit.controller.conftest import Controller, eventually
from tests.unit.controller.test_delegations import Ledger, mac

START = datetime(2026, 1, 1, tzinfo=UTC)
ID = "ff00112233"


def use(cloudlet: str, number: int, since: float, latest: float) -> Use:
    began, last = (START + timedelta(seconds=seconds) for seconds in (since, latest))
    return Use(ID, mac(number), f"{cloudlet}-lan", cloudlet, began, last)


HERE, THERE = use("c1", 1, 0, 1800), use("c2", 2, 100, 100)


def test_an_id_that_goes_back_to_the_first_mac_is_two_machines_and_both_are_named() -> None:
    for pair in ((HERE, THERE), (THERE, HERE)):
        (difference,) = compare_clones(clones([pair]))
        assert (difference.kind, difference.subject) == ("cloned-client", ID)
        for word in (mac(1), mac(2), "c1-lan (c1)", "c2-lan (c2)"):
            assert word in difference.text


@pytest.mark.parametrize(
    "other",
    [
        use("c2", 2, 2000, 3000),  # the device has moved there
        use("c2", 2, 1800, 1800),
        use("c2", 1, 100, 100),  # the machine itself
        replace(THERE, cloudlet="c1"),  # the agent reports this itself
    ],
)
def test_one_machine_is_none(other: Use) -> None:
    assert not list(clones([(HERE, other)]))


def test_a_long_id_is_cut_off_and_no_more_than_a_hundred_are_named() -> None:
    long = [(replace(HERE, client_id="ab" * 255), replace(THERE, client_id="ab" * 255))] * 150
    differences = list(compare_clones(clones(long)))
    assert len(differences) == 100 and len(differences[0].subject) == 65


async def test_leases_of_two_cloudlets_are_compared_and_told_once(controller: Controller) -> None:
    ledgers = [Ledger(await controller.agent(f"c{n}", n), f"c{n}-lan") for n in (1, 2)]

    async def ask(n: int) -> None:
        ledger = ledgers[n - 1]
        await ledger.say(blocks=ledger.blocks, entries=[ledger.entry(0, n, left=3600, client_id=ID)])

    async def named() -> list[str]:
        differences = (await controller.get("/doctor"))["differences"]
        return [one["found"] for one in differences if one["kind"] == "cloned-client"]

    async def told() -> list[Any]:
        items = (await controller.get("/events", limit=1000))["items"]
        return [event["data"] for event in items if event["type"] == "cloned-client"]

    for ledger in ledgers:
        await ledger.say(blocks=[], want=1)
    await ask(1)
    await ask(2)
    assert await named() == []
    await ask(1)
    assert await named() == [f"{mac(1)} and {mac(2)}"]
    for _ in range(3):
        await controller.region.leases.clones.tell()
    await eventually(told)
    (data,) = await told()
    assert data["client_id"] == ID
    assert [(one["mac"], one["cloudlet"]) for one in data["uses"]] == [(mac(1), "c1"), (mac(2), "c2")]
