"""Ways in which two clients could get one address, each with one controller or two."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.refusals import Refused
from controller.db import leases, pairs
from tests.unit.leases.world import DAWN, LAN, PLAN, SECONDS, Disk, Machine, World

CLIENTS = 20


@pytest.fixture
async def world(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    made = World(url, monkeypatch, CLIENTS)
    await made.found()
    yield made
    await made.database.close()


async def known(world: World, name: str, machine: Machine) -> None:
    await world.register(name, machine, None)
    assert machine.registered is not None


def come(world: World, *machines: Machine) -> None:
    for machine in machines:
        if (offered := world.offer(machine)) is not None:
            world.request(machine, offered, renewing=False, fate="ok")


async def twice(world: World) -> None:
    """Exchange twice: the first asks for blocks, the second has them."""
    await world.exchange()
    await world.exchange()


def once(world: World) -> None:
    double = {half: who for half, who in world.holders().items() if len(who) > 1}
    assert not double, double


@pytest.mark.parametrize("fate", ["ok", "unheard"])
async def test_power_is_lost_and_a_lease_time_later_an_operator_grants(world: World, fate: str) -> None:
    device, first, *others = world.machines
    await twice(world)
    come(world, first)
    await world.exchange()
    await known(world, "m0", device)
    world.booted = world.time - 5
    world.start_agent(proven=False)
    await world.exchange(fate)
    await world.exchange(fate)
    for _ in range(2):
        world.time += SECONDS
        await world.exchange("lost" if fate == "unheard" else "ok")
        await world.sweep()
    await world.grant("m0", "md")
    assert world.granted
    come(world, *others[:4])
    once(world)


async def test_an_answer_is_lost_that_gives_a_block_with_a_granted_pair_in_it(world: World) -> None:
    *clients, m0, m1 = world.machines
    await known(world, "m0", m0)
    await known(world, "m1", m1)
    await world.grant("m0", "md")  # from block 0, which is the controller's own as long as there is no agent
    await twice(world)
    await world.grant("m1", "md")
    come(world, *clients[:8])
    await world.exchange("unheard")
    await world.exchange()
    come(world, *clients[8:])
    assert len(world.granted) == 2
    once(world)


async def test_a_lent_pair_was_leased_by_an_agent_that_lost_its_disk(world: World) -> None:
    *clients, device = world.machines
    await known(world, "m0", device)
    await world.grant("m0", "md")  # from block 0, which is the controller's own as long as there is no agent
    await twice(world)
    world.time += SECONDS + 1
    await world.sweep()
    await world.exchange()
    come(world, device)
    assert device.holds == (0, "md")
    world.disk, world.proof = Disk(), 0
    world.start_agent(proven=False)
    for client in clients:
        await twice(world)
        come(world, client)
    once(world)


@pytest.mark.parametrize("told", ["over", "shorter"])
async def test_what_an_operator_granted_stands_whatever_the_agent_tells_late(world: World, told: str) -> None:
    await twice(world)
    device, *_ = world.machines
    await known(world, "m0", device)
    come(world, device)
    await world.exchange()
    held = device.holds
    assert held is not None
    address = str(PLAN.address(*held))
    if told == "over":
        world.release(device)
        await world.exchange("late")
    else:
        world.time += SECONDS / 2
        world.request(device, held, renewing=True, fate="ok")
        await world.exchange("late")
        world.time += SECONDS / 4
    await world.grant("m0", "md")
    assert world.granted
    until = await expires(world, address)
    for sent in world.late:
        await world.deliver(sent)
    await world.exchange()
    await world.sweep()
    assert await expires(world, address) == until


async def expires(world: World, address: str) -> datetime | None:
    async with world.database.read() as session:
        rows = await leases.page(session, 0, 1000, DAWN, LAN, None)
    return next((row.expires_at for row in rows if row.address == address), None)


class Meanwhile:
    """Does `work` directly before pairs are taken from their devices, or lent to an agent, as another controller could.
    The work completes first, unless a lock makes it wait."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        work: Callable[[], Coroutine[Any, Any, None]],
        before: Literal["take_idle", "lend"] = "take_idle",
    ) -> None:
        self._then, self._work = getattr(pairs, before), work
        self.task: asyncio.Task[None] | None = None
        patch.setattr(pairs, before, self.then)

    async def then(self, session: AsyncSession, ids: Collection[int], *rest: Any) -> Any:
        if ids and self.task is None:
            self.task = asyncio.create_task(self._work())
            await asyncio.wait([self.task], timeout=0.5)
        return await self._then(session, ids, *rest)

    async def over(self) -> None:
        assert self.task is not None
        with suppress(Refused):
            await self.task


async def test_a_pair_is_granted_while_the_agent_has_it_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    *clients, device = world.machines
    await known(world, "m0", device)
    await twice(world)
    come(world, device)
    await world.exchange()
    world.time += SECONDS + 1
    meanwhile = Meanwhile(monkeypatch, lambda: world.grant("m0", "md"))
    for client in clients:
        come(world, client)
        await twice(world)
    await meanwhile.over()
    once(world)


async def test_a_pair_is_granted_while_somebody_else_is_granted_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"m{number}" for number in range(PLAN.capacity + 1)]
    for number, name in enumerate(names):
        await known(world, name, Machine(number))
    for name in names[:-1]:
        await world.grant(name, "md")
    world.time += SECONDS + 1
    found: list[str] = []

    async def renewed() -> None:
        found.append((await world.leases.grant(LAN, names[0], "md"))[0].address)

    meanwhile = Meanwhile(monkeypatch, renewed)
    found.append((await world.leases.grant(LAN, names[-1], "md"))[0].address)
    await meanwhile.over()
    assert len(set(found)) == len(found), f"two devices were granted {found}"


@pytest.mark.parametrize("first", ["grant", "agent"])
async def test_a_pair_goes_to_somebody_else_while_the_agent_is_told_whose_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    machines = world.machines[:7]
    await twice(world)
    for number, machine in enumerate(machines):
        await known(world, f"m{number}", machine)
    for number in range(6):  # all pairs that agents leave to the controller
        await world.grant(f"m{number}", "md")
    assert len(world.granted) == 6
    world.time += SECONDS + 1
    owner = machines[0]

    async def tell() -> None:
        await world.exchange(ask=[owner.client])

    async def grant() -> None:
        await world.grant("m6", "md")

    one, other = (grant, tell) if first == "grant" else (tell, grant)
    meanwhile = Meanwhile(monkeypatch, other, "take_idle" if first == "grant" else "lend")
    await one()
    await meanwhile.over()
    come(world, owner)
    assert owner.holds is not None
    assert "m6" in {device for device, until in world.granted.values() if until > world.time}
    once(world)
