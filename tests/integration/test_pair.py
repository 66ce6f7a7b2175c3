"""The pair of route servers under failures: cut off, killed, with old disks, with none, and with an old database.

After each failure both have one generation, no PE was sent a forbidden route, members that stayed always had each
other's routes, and the API said "in force" only if it was true.
"""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.pair_region import PairRegion, pair_region

pytestmark = pytest.mark.lab


@pytest.fixture
async def region(tmp_path: Path) -> AsyncIterator[PairRegion]:
    async with pair_region(tmp_path) as running:
        yield running


@pytest.mark.parametrize("trouble", ["cut", "frozen"])
async def test_cut_off_from_the_controller_it_follows_its_twin(region: PairRegion, trouble: str) -> None:
    """A frozen link delivers the change in the end; the change is old then."""
    if trouble == "cut":
        region.one.link.cut()
    else:
        region.one.link.freeze()
    left = await region.leave("c3-lan")
    assert left["unreachable"] == ["rs1"] and not left["in_force"]

    async def followed() -> bool:
        return region.one.generation() == int(left["generation"])

    await region.eventually(followed, "rs1 takes over what its twin has")
    region.forbid("c3")
    assert not await region.in_step(), "the controller cannot know"
    region.one.link.heal()
    await region.settled("c1", "c2")
    assert (await region.join("c4-lan"))["in_force"] is True


async def test_cut_off_from_both_it_is_never_said_to_be_in_step(region: PairRegion) -> None:
    """It serves old rules, which keeps the others' traffic up; the controller must not report them as in force."""
    region.one.link.cut()
    region.one.to_twin.cut()
    region.two.to_twin.cut()
    left = await region.leave("c3-lan")
    assert left["unreachable"] == ["rs1"] and not left["in_force"]
    region.allow("c4")  # c4 joins and leaves
    region.forbid("c3")
    for _ in range(4):
        assert not (await region.join("c4-lan"))["in_force"]
        assert not (await region.leave("c4-lan"))["in_force"]
        await asyncio.sleep(2)
        assert not await region.in_step()
    assert region.pes["c3"].ve_id in region.pes["c1"].tables["rs1"], "it goes on serving"
    region.one.to_twin.heal()
    generation = region.two.generation()

    async def followed() -> bool:
        return region.one.generation() == generation

    await region.eventually(followed, "rs1 follows rs2")
    for server in (region.one.link, region.two.to_twin):
        server.heal()
    await region.settled("c1", "c2")


async def test_with_a_lease_it_falls_silent(region: PairRegion) -> None:
    region.one.daemon.kill()
    region.one.prepare("--lease", "10s")
    region.one.daemon.start()
    await region.settled("c1", "c2", "c3")
    for link in (region.one.link, region.one.to_twin):
        link.cut()
    assert not (await region.leave("c3-lan"))["in_force"]

    async def silent() -> bool:
        return all("rs1" not in pe.tables for pe in region.pes.values())

    await region.eventually(silent, "rs1 closes its sessions")
    region.forbid("c3")
    region.one.link.heal()
    await region.settled("c1", "c2")


@pytest.mark.smoke
@pytest.mark.parametrize("disk", ["old", "lost", "torn"])
async def test_it_comes_back_with_another_disk(region: PairRegion, disk: str) -> None:
    """The controller does not reach the route server; its twin prevents it from serving old rules."""
    copy = region.directory / "old-state"
    shutil.copytree(region.one.state, copy)
    region.one.daemon.kill()
    assert (await region.leave("c3-lan"))["unreachable"] == ["rs1"]
    region.forbid("c3")
    region.one.link.cut()
    if disk in ("old", "lost"):
        shutil.rmtree(region.one.state)
    if disk == "old":
        shutil.copytree(copy, region.one.state)
    if disk == "torn":
        with (region.one.state / "changes.jsonl").open("a") as journal:
            journal.write('{"base": 9, "generation": 10, "ops": [{"op": "le')
    region.one.daemon.start()

    async def served() -> bool:
        return all("rs1" in pe.tables for pe in region.pes.values())

    await region.eventually(served, "sessions with rs1")
    assert region.one.generation() == region.two.generation()
    region.one.link.heal()
    await region.settled("c1", "c2")
    region.one.daemon.kill()
    region.one.daemon.start()
    await region.settled("c1", "c2")


async def test_both_start_with_different_disks_and_without_the_controller(region: PairRegion) -> None:
    copy = region.directory / "old-state"
    shutil.copytree(region.one.state, copy)
    assert (await region.leave("c3-lan"))["in_force"]
    for pe in region.pes.values():
        pe.needed = set()  # both die
    for daemon in (region.controller, region.one.daemon, region.two.daemon):
        daemon.kill()

    async def lost() -> bool:
        return not any(pe.tables for pe in region.pes.values())

    await region.eventually(lost, "no session")
    region.forbid("c3")
    shutil.rmtree(region.one.state)
    shutil.copytree(copy, region.one.state)
    region.one.daemon.start()
    region.two.daemon.start()

    async def served() -> bool:
        return all(set(pe.tables) == {"rs1", "rs2"} for pe in region.pes.values())

    await region.eventually(served, "sessions with both")
    assert region.one.generation() == region.two.generation()
    region.controller.start()
    await region.settled("c1", "c2")


async def test_the_controller_dies_in_the_middle_of_a_change(region: PairRegion) -> None:
    region.one.link.cut()  # as if rs1's copy of the change were still on its way
    left = asyncio.create_task(region.leave("c3-lan"))
    before = region.two.generation()

    async def half() -> bool:
        return region.two.generation() > before or left.done()

    await region.eventually(half, "one of them has the change")
    region.controller.kill()
    await asyncio.gather(left, return_exceptions=True)

    async def followed() -> bool:
        return region.one.generation() == region.two.generation()

    await region.eventually(followed, "rs1 takes over what its twin has")
    region.forbid("c3")
    region.one.link.heal()
    region.controller.start()
    await region.settled("c1", "c2")


async def test_an_old_database_gives_nothing_back(region: PairRegion) -> None:
    region.controller.kill()
    copy = region.backup()
    region.controller.start()
    await region.settled("c1", "c2", "c3")
    assert (await region.leave("c3-lan"))["in_force"]
    region.controller.kill()
    region.forbid("c3")
    region.restore(copy)
    region.controller.start()

    async def held() -> bool:
        return await region.answers() and "would give back c3-lan in blue" in await region.error(region.one)

    await region.eventually(held, "the controller says that its database is old")
    assert not await region.in_step()
    assert not (await region.join("c4-lan"))["in_force"]  # its generation passes that of the route servers
    region.controller.kill()
    region.controller.start()
    await region.eventually(held, "it says so after a restart, too")
    assert not (await region.leave("c4-lan"))["in_force"]
    assert not (await region.leave("c3-lan"))["in_force"]
    await region.settled("c1", "c2")
    assert region.pes["c3"].tables == {"rs1": set(), "rs2": set()}
    region.allow("c4")
    assert (await region.join("c4-lan"))["in_force"], "agents have desired states of the new time"


@pytest.mark.parametrize("seed", [1, 2])
async def test_any_weather(region: PairRegion, seed: int) -> None:
    """Links, route servers, the controller and members come and go at random. Once the API has reported a leave as in
    force, the leaver's routes are gone everywhere, until it joins again."""
    chance = random.Random(seed)
    members, in_force = {"c1", "c2", "c3"}, 0
    for pe in region.pes.values():
        pe.needed = set()
    links = [region.one.link, region.two.link, region.one.to_twin, region.two.to_twin]
    daemons = [region.one.daemon, region.two.daemon, region.controller]
    for _ in range(30):
        match chance.choice(["move", "move", "move", "link", "daemon", "calm"]):
            case "link":
                chance.choice([chance.choice(links).cut, chance.choice(links).heal])()
            case "daemon":
                daemon = chance.choice(daemons)
                daemon.kill()
                if chance.random() < 0.7:
                    daemon.start()
            case "calm":
                for link in links:
                    link.heal()
                for daemon in daemons:
                    if not daemon.running:
                        daemon.start()
                await asyncio.sleep(3)
            case _ if await region.answers():
                mover = chance.choice(sorted(region.pes))
                if mover in members:
                    members.remove(mover)
                    if (await region.leave(f"{mover}-lan"))["in_force"]:
                        in_force += 1
                        await asyncio.sleep(0.2)  # time for PEs to read the sent routes
                        region.forbid(mover)
                        assert not region.meet(mover)
                else:
                    members.add(mover)
                    region.allow(mover)
                    await region.join(f"{mover}-lan")
        await asyncio.sleep(chance.random())
        assert region.wrong() == []
    for link in links:
        link.heal()
    for daemon in daemons:
        if not daemon.running:
            daemon.start()
    await region.settled(*members)
    assert in_force, "no leave was ever in force: this seed shows nothing"
