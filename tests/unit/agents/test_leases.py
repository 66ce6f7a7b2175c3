"""One LAN's leases at an agent, over a real journal and the test's own controller."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from agents.controller.client import ControllerAway
from agents.dhcp.lease_source import LeaseRefused, NoAnswer
from agents.leases import lan as timing
from agents.leases.journal import Journal
from agents.leases.lan import LeasedLan
from controller.wire.delegations import Block, Client, Exchange, Exchanged, Known
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from tests.unit.agents.desires import endpoint

LAN = endpoint(1)
Start = Callable[..., Awaitable[LeasedLan]]


def request(number: int, address: str | None = None, **more: object) -> LeaseRequest:
    return LeaseRequest(endpoint="e1", mac=f"02:00:5e:00:00:{number:02x}", address=address).model_copy(update=more)


class Plan:
    """A controller that gives the requested blocks, up to `room` of them, and knows `devices`."""

    def __init__(self, room: int = 4) -> None:
        self.room, self.up, self.devices, self.tried = room, True, list[Known](), 0
        self.said: list[Exchange] = []
        self.given: list[int] = []
        self.next = Exchanged(lease_seconds=600)

    async def exchange(self, exchange: Exchange) -> Exchanged:
        self.tried += 1
        await asyncio.sleep(0)
        if not self.up:
            raise ControllerAway("not there")
        self.said.append(exchange)
        if self.next.anew or self.next.resync:
            answer, self.next = self.next, Exchanged(lease_seconds=600)
            return answer
        fresh = list(range(len(self.given), min(self.room, len(self.given) + exchange.want)))
        self.given += fresh
        return Exchanged(
            lease_seconds=600,
            acked=exchange.entries[-1].version if exchange.entries else exchange.acked,
            blocks=[Block(number=n, first=8 * n, pairs=8) for n in fresh],
            known=[d for d in self.devices if any(c in (d.md, d.vm) for c in exchange.ask)],
            forgotten=exchange.forget,
        )


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Site:
    """An agent's directory, and the agent that uses it."""

    def __init__(self, path: Path, plan: Plan, clock: Clock) -> None:
        self.path, self.plan, self.clock = path, plan, clock

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LeasedLan]:
        lan = LeasedLan(LAN, self.path / "state", self.plan, self.clock)
        task = asyncio.create_task(lan.run())
        try:
            yield lan
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await lan.close()

    async def settled(self, lan: LeasedLan) -> None:
        async with asyncio.timeout(5):
            while lan._account.due:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def exchanged(self, lan: LeasedLan) -> None:
        """Have the agent's own loop exchange news once more: an exchange beside one that is under way does not happen
        in an agent."""
        tried = self.plan.tried
        async with asyncio.timeout(5):
            while self.plan.tried == tried:
                lan._wake.set()
                await asyncio.sleep(0.005)
        if self.plan.up:
            await self.settled(lan)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    (tmp_path / "boot").write_text(secrets.token_hex(18))

    def opened(path: Path) -> Journal:
        return Journal(path, tmp_path / "run", tmp_path / "boot")

    monkeypatch.setattr(timing, "Journal", opened)
    monkeypatch.setattr(timing, "PAUSE", 0.001)
    return Site(tmp_path, Plan(), Clock())


async def lease(lan: LeasedLan, number: int) -> LeaseGrant:
    offered = await lan.offer(request(number))
    granted = await lan.grant(request(number, offered.address))
    assert granted == offered
    return granted


@pytest.mark.parametrize(("took", "pause"), [(0.0, 0.1), (0.02, 0.1), (0.1, 0.4), (3.0, 0.5), (-1.0, 0.1)])
def test_a_slow_controller_is_asked_less_often(took: float, pause: float) -> None:
    assert timing.rest(took) == pytest.approx(pause)


async def test_a_controller_that_takes_its_time_has_as_much_rest(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = list[float]()

    def rest(took: float) -> float:
        paused.append(took)
        return 0.001

    async def exchange(asked: Exchange) -> Exchanged:
        site.clock.now += 0.07
        return await answer(asked)

    answer = site.plan.exchange
    monkeypatch.setattr(timing, "rest", rest)
    monkeypatch.setattr(site.plan, "exchange", exchange)
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        await asyncio.sleep(0.01)
    assert paused and all(took == pytest.approx(0.07) for took in paused)


async def test_new_clients_are_answered_and_the_controller_hears_of_them(site: Site) -> None:
    async with site.running() as lan:
        first, second = await lease(lan, 1), await lease(lan, 2)
        assert (first.address, second.address) == ("10.1.0.2", "10.1.0.4")
        assert (first.kind, first.seconds, first.prefix_length, first.gateway) == ("md", 600, 24, "10.1.0.1")
        await site.settled(lan)
    told = {entry.number: (entry.mac, entry.left) for sent in site.plan.said for entry in sent.entries}
    assert told == {0: (request(1).mac, 601), 1: (request(2).mac, 601)}


@pytest.mark.parametrize("first", [1, 2], ids=["the device is first", "its machine is first"])
async def test_a_device_and_its_machine_that_ask_at_once_get_one_pair(site: Site, first: int) -> None:
    md, vm = (Client(mac=request(number).mac) for number in (1, 2))
    site.plan.devices = [Known(device="m1", number=None, md=md, vm=vm)]
    async with site.running() as lan:
        async with asyncio.timeout(5):
            while not lan._book.room.free:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        offered = {number: (await lan.offer(request(number))).address for number in (first, 3 - first)}
        assert offered == {1: "10.1.0.2", 2: "10.1.0.3"}
        for number in (3 - first, first):
            assert (await lan.grant(request(number, offered[number]))).address == offered[number]
        assert (await lease(lan, 3)).address == "10.1.0.4", "nothing else was kept for them"


async def test_new_clients_are_answered_while_the_controller_is_away(site: Site) -> None:
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        site.plan.up = False
        assert (await lease(lan, 2)).address == "10.1.0.4"
        assert (await lan.grant(request(1, "10.1.0.2", renewing=True))).address == "10.1.0.2"
        site.plan.up = True
        await site.settled(lan)
    assert {entry.number for sent in site.plan.said for entry in sent.entries} == {0, 1}


async def test_a_machine_gets_the_address_above_its_devices(site: Site) -> None:
    md, vm = Client(mac=request(1).mac), Client(mac=request(2).mac)
    site.plan.devices = [Known(device="m1", number=None, md=md, vm=vm)]
    async with site.running() as lan:
        machine = await lease(lan, 2)
        device = await lease(lan, 1)
        assert (machine.address, machine.kind, machine.device) == ("10.1.0.3", "vm", "m1")
        assert (device.address, device.kind, device.device) == ("10.1.0.2", "md", "m1")
        site.plan.up = False
        site.clock.now += 700
        assert (await lease(lan, 2)).address == "10.1.0.3", "what was heard is remembered"


async def test_a_machine_that_is_expected_is_known_when_it_comes(site: Site) -> None:
    md, vm = Client(mac=request(1).mac), Client(mac=request(2).mac)
    async with site.running() as lan:
        await lease(lan, 9)
        await site.settled(lan)
        site.plan.devices = [Known(device="m1", number=1, md=md, vm=vm)]
        await lan.meet(vm)
        site.plan.up = False
        site.clock.now += 300  # a long copy
        machine = await lease(lan, 2)
        assert (machine.address, machine.kind, machine.device) == ("10.1.0.5", "vm", "m1")


async def test_a_machine_that_was_taken_for_a_device_moves_with_its_next_lease_only(site: Site) -> None:
    async with site.running() as lan:
        await lease(lan, 9)
        await site.settled(lan)
        site.plan.up = False
        taken = await lease(lan, 2)
        assert (taken.address, taken.kind) == ("10.1.0.4", "md")
        md, vm = Client(mac=request(1).mac), Client(mac=request(2).mac)
        lan._book.learn(Known(device="m1", number=None, md=md, vm=vm), site.clock.now)
        assert (await lan.grant(request(2, "10.1.0.4", renewing=True))).address == "10.1.0.4"
        again = await lease(lan, 2)
        assert (again.kind, again.device) == ("vm", "m1") and again.address != "10.1.0.5"


async def test_a_released_address_is_nobody_elses_before_its_time_is_over(site: Site) -> None:
    site.plan.room = 1
    async with site.running() as lan:
        for number in range(8):
            await lease(lan, number)
        await site.settled(lan)
        with pytest.raises(LeaseRefused, match="no pair"):
            await lan.offer(request(20))
        await lan.release(LeaseRelease(endpoint="e1", address="10.1.0.8", mac=request(3).mac))
        await site.settled(lan)
        with pytest.raises(LeaseRefused):
            await lan.offer(request(20))
        site.clock.now += 601
        site.plan.devices = []
        async with asyncio.timeout(5):
            while True:
                with suppress(LeaseRefused):
                    assert (await lease(lan, 20)).address == "10.1.0.2", "that of whoever was away for longest"
                    break
                await asyncio.sleep(0.01)


async def test_nothing_is_leased_by_a_request_for_another_address(site: Site) -> None:
    async with site.running() as lan:
        await lease(lan, 1)
        assert (await lan.grant(request(1, "10.1.0.8"))).address == "10.1.0.2"
        version = lan._book.version
        assert (await lan.grant(request(1, "10.1.0.3"))).address == "10.1.0.2"
        assert lan._book.version == version
        site.plan.up = False
        with suppress(LeaseRefused, NoAnswer):
            await lan.offer(request(30))
        with pytest.raises(NoAnswer, match="may be this client's"):
            await lan.grant(request(40, "10.1.0.200", renewing=True))


async def test_what_was_acknowledged_survives_and_goes_on(site: Site) -> None:
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        site.plan.up = False
        await lease(lan, 2)
        incarnation = lan._book.incarnation
    async with site.running() as lan:
        assert lan._book.incarnation == incarnation
        assert (await lan.grant(request(2, "10.1.0.4", renewing=True))).address == "10.1.0.4"
        assert (await lease(lan, 3)).address == "10.1.0.6"
        site.plan.up = True
        await site.settled(lan)
    assert {entry.number for sent in site.plan.said for entry in sent.entries} == {0, 1, 2}


@pytest.mark.parametrize("away", [False, True], ids=["the controller is back", "it stays away"])
async def test_after_a_start_of_the_machine_only_what_is_certain_is_given(site: Site, *, away: bool) -> None:
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        incarnation = lan._book.incarnation
    (site.path / "boot").write_text("another")
    site.plan.up, site.clock.now = False, 5.0
    async with site.running() as lan:
        assert lan._book.incarnation != incarnation
        assert (await lan.grant(request(1, "10.1.0.2", renewing=True))).address == "10.1.0.2"
        with pytest.raises((NoAnswer, LeaseRefused)):
            await lan.offer(request(2))
        if away:
            site.clock.now += 606
            await site.exchanged(lan)
            assert 0 in lan._book.room.held, "what has rested is used again"
            return
        site.plan.up = True
        async with asyncio.timeout(5):
            while not lan._book.room.free:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert (await lease(lan, 2)).address == "10.1.0.34", "from blocks that are new"
        assert (await lan.grant(request(1, "10.1.0.2", renewing=True))).address == "10.1.0.2"
        site.clock.now += 606
        await site.exchanged(lan)
        assert 0 not in lan._book.room.blocks, "the controller may have given it to somebody else"


async def test_an_older_copy_of_the_journal_is_told_from_the_latest(site: Site) -> None:
    path = site.path / "state/e1.journal"
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        incarnation, copy = lan._book.incarnation, path.read_bytes()
        await lease(lan, 2)
    path.write_bytes(copy)
    async with site.running() as lan:
        assert lan._book.incarnation != incarnation


async def test_another_incarnation_when_the_controller_says_so(site: Site) -> None:
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        incarnation = lan._book.incarnation
        site.plan.next = Exchanged(lease_seconds=600, anew=True)
        await site.exchanged(lan)
        assert lan._book.incarnation != incarnation
        assert (await lan.grant(request(1, "10.1.0.2", renewing=True))).address == "10.1.0.2"


async def test_everything_is_told_again_to_a_controller_that_has_forgotten(site: Site) -> None:
    async with site.running() as lan:
        await lease(lan, 1)
        await site.settled(lan)
        site.plan.next = Exchanged(lease_seconds=600, resync=True)
        await site.exchanged(lan)
        last = [sent for sent in site.plan.said if sent.blocks is not None][-1]
        assert (last.blocks, last.acked, [entry.number for entry in last.entries]) == ([0, 1], 0, [0])


async def test_the_agent_knows_which_client_has_leased_an_address(site: Site) -> None:
    async with site.running() as lan:
        granted = await lan.grant(request(1))
        mine, other = (Client(mac=f"02:00:5e:00:00:{number:02x}") for number in (1, 2))
        assert lan.leased(granted.address, mine) and not lan.leased(granted.address, other)
        assert not lan.leased("10.1.0.1", mine) and not lan.leased("10.1.0.99", mine)
        site.clock.now += 601
        assert not lan.leased(granted.address, mine)
