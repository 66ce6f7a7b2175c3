"""The guard of sources follows leases and machines: the holder of an address is the one that may send from it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.sightings import Sightings
from agents.sightings.nflog import present
from agents.sightings.rules import TABLE as SIGHTINGS
from agents.sources import TABLE
from controller.wire.access import Dropped
from controller.wire.leases import LeaseRelease
from controller.wire.machines import Machine, client_id
from controller.wire.moves import Addresses, Order
from controller.wire.sightings import SightingReport
from tests.integration.agent_namespaces import namespaces
from tests.integration.sources_site import OTHER, OWN, PORTS, VICTIM, WANT, Net, Plan, running

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "bad", "victim", "far") as spaces:
        yield Net(spaces)


async def test_a_lease_works_at_once_and_until_it_is_given_back(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        address = await site.leased(VICTIM)
        assert not await net.passes(address) and not await net.passes("10.1.0.8"), "it is another's, and nobody's"
        mine = await site.grant(OWN)
        assert mine != address and await net.passes(mine)
        before = site.nft.runs
        assert await site.grant(OWN, mine, renewing=True) == mine
        assert site.nft.runs == before, "a renewal is nothing new to the kernel"
        assert await net.passes(mine)
        await site.leases.release(LeaseRelease(endpoint="e1", address=mine, mac=OWN))
        assert not await net.passes(mine) and not await net.passes(address)
        assert await site.grant(OWN) == mine and await net.passes(mine)
        # The lease belongs to the client, which returns with another MAC.
        again = await site.grant(OTHER, who="0001")
        assert await site.grant(OWN, again, renewing=True, who="0001") == again
        assert await net.passes(again) and not await net.passes(again, mac=OTHER)


async def test_a_lease_that_ends_frees_nobody(net: Net, tmp_path: Path) -> None:
    plan = Plan()
    plan.seconds = 2
    async with running(net, tmp_path, plan) as site:
        address = await site.leased(OWN)
        assert await net.passes(address)
        async with asyncio.timeout(6):
            while await net.passes(address):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.1)
        assert await site.grant(OWN, address) == address and await net.passes(address)


async def test_many_at_once_are_few_runs_of_nft(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        await site.leased(VICTIM)
        before = site.nft.runs
        macs = [f"02:00:5e:00:01:{n:02x}" for n in range(12)]
        granted = await asyncio.gather(*(site.grant(mac) for mac in macs))
        listed = net.gate.run(f"nft list set bridge {TABLE} lan1.held4")
        assert all(f"{mac} . {address}" in listed for mac, address in zip(macs, granted, strict=True))
        assert site.nft.runs <= before + 5


async def test_an_agent_that_is_killed_leaves_the_sets_and_its_successor_has_the_same(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        theirs, mine = await site.leased(VICTIM), await site.grant(OWN)
    assert await net.passes(mine) and not await net.passes(theirs), "nobody runs, and the kernel goes on"
    async with running(net, tmp_path, Plan()) as site:
        assert await net.passes(mine) and not await net.passes(theirs) and not await net.passes("10.1.0.8")
        assert await site.grant(OWN, mine, renewing=True) == mine


async def test_what_somebody_took_out_comes_back(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        theirs, mine = await site.leased(VICTIM), await site.grant(OWN)
        net.gate.run(f"nft delete table bridge {TABLE}")
        assert await net.passes(theirs)
        third = await site.grant(OTHER)
        assert site.woken, "a lease that the kernel does not take makes the agent look"
        assert await site.sources.apply(WANT, PORTS) is None
        assert not await net.passes(theirs) and await net.passes(mine) and await net.passes(third, OTHER)
        await site.sources.apply(WANT, {"lan1": ("md2",)})
        assert await net.passes(theirs), "a port that is plugged in elsewhere is not looked at"
        await site.sources.apply(WANT, PORTS)
        assert not await net.passes(theirs) and await net.passes(mine), "and the sets are as they were"


async def test_a_policy_may_turn_it_off(net: Net, tmp_path: Path) -> None:
    plan = Plan()
    async with running(net, tmp_path, plan) as site:
        theirs = await site.leased(VICTIM)
        assert not await net.passes(theirs)
        plan.bound = False
        await site.grant(OTHER)
        async with asyncio.timeout(5):
            while not site.woken:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.05)
        await site.sources.apply(WANT, PORTS)
        assert await net.passes(theirs)


def order(act: str, old: str, new: str | None = None, move: str = "m") -> Order:
    machine = Machine(name="v1", driver="simulated", image="debian", memory=1 << 28, macs=(OWN, OTHER))
    addresses = Addresses(old=old, new=new)
    return Order.model_validate(
        {"move": move, "number": 1, "act": act, "machine": machine, "endpoint": "e1", "addresses": addresses}
    )


async def test_nothing_of_a_machine_that_moves_is_dropped(net: Net, tmp_path: Path) -> None:
    """The machine's old address is of another LAN. Its new address is leased on one vNIC, and its kernel may answer for
    either address on both vNICs. If it comes home with a kept address, no lease for that address exists."""
    plan = Plan()
    async with running(net, tmp_path, plan) as site:
        await site.leased(VICTIM)
        await site.sources.admit(order("prepare", "10.2.0.5", "10.1.0.5"))
        assert await net.passes("10.2.0.5", OWN) and await net.passes("10.2.0.5", OTHER)
        new = await site.grant(OTHER, who=client_id("v1"))
        for address in (new, "10.2.0.5"):
            for mac in (OWN, OTHER):
                assert await net.passes(address, mac), (address, mac)
        assert not await net.passes(new, VICTIM)
        await site.sources.admit(order("activate", "10.1.0.9", None, "home"))
        assert await net.passes("10.1.0.9", OWN) and await net.passes("10.1.0.9", OTHER)
        assert not await net.passes("10.1.0.9", VICTIM)
        await site.sources.dismiss(order("abort", "10.1.0.9", None, "another"))
    async with running(net, tmp_path, plan) as site:
        assert await net.passes("10.1.0.9", OWN), "an agent that was started anew knows it still"
        await site.sources.dismiss(order("discard", "10.1.0.9", None, "on"))
        assert not await net.passes("10.1.0.9", OWN)
        assert await net.passes(new, OTHER) and not await net.passes(new, OWN), "the lease is that vNIC's"


class Seen:
    """A stub that keeps the sightings it receives."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()

    async def sightings(self, report: SightingReport) -> None:
        self.addresses |= {sighting.address for sighting in report.sightings}


async def test_a_roaming_device_is_seen_and_a_spoofed_one_is_not(net: Net, tmp_path: Path) -> None:
    seen = Seen()
    async with running(net, tmp_path, Plan()) as site:
        theirs = await site.leased(VICTIM)
        sightings = Sightings("c1", seen)
        task = asyncio.create_task(sightings.run())
        sightings.intend(WANT)
        try:
            async with asyncio.timeout(10):
                while not present(SIGHTINGS):  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.01)
                assert await net.passes("10.2.0.4") and not await net.passes(theirs)
                while "10.2.0.4" not in seen.addresses:  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.05)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert seen.addresses == {"10.2.0.4"}


def test_the_controller_is_told_of_it() -> None:
    assert Dropped(endpoint="e1", what="source", packets=1).what == "source"
