"""Probes on demand: what is asked, how often, and what is reported of it. The LANs are simulated."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import pytest

from agents.controller.client import ControllerAway
from agents.passages import verifier
from agents.passages.targets import ProbingLan
from agents.passages.verifier import SMALL, STEPS, TRIES, Budget, Verifier, probe
from controller.wire.probes import SMALLEST, ProbeReport, ProbeRequest, ProbeResult, ProbeTarget
from lab.patience import eventually
from tests.unit.agents.desires import desired, dual, endpoint

GATEWAY, DEVICE = "02:57:00:00:00:02", "02:00:5e:00:00:01"
STATE = desired(endpoint(1, **dual(1)), endpoint(9, index=2))


class Lan:
    """A LAN on which `macs` answer. Packets up to `passes` bytes come back; `lost` says how many questions get no
    answer before the first one that does."""

    def __init__(self, macs: dict[str, str], passes: int = 9000, lost: int = 0) -> None:
        self.macs, self.passes, self.lost = macs, passes, lost
        self.asked: list[tuple[str, int]] = []
        self.closed = 0
        self.turn: Callable[[], Awaitable[None]] | None = None

    def open(self, lan: ProbingLan, turn: Callable[[], Awaitable[None]]) -> "Lan":
        self.turn = turn
        return self

    def close(self) -> None:
        self.closed += 1

    async def resolve(self, address: str) -> tuple[float, str] | None:
        self.asked.append((address, 0))
        mac = self.macs.get(address)
        return None if mac is None or self._is_lost() else (1.25, mac)

    async def echo(self, address: str, mac: str, size: int) -> float | None:
        self.asked.append((address, size))
        return None if size > self.passes or self._is_lost() else 2.5

    def _is_lost(self) -> bool:
        self.lost -= 1
        return self.lost >= 0


class Controller:
    """A controller that keeps what it is told."""

    def __init__(self) -> None:
        self.reports: list[ProbeReport] = []
        self.away = False

    async def probes(self, report: ProbeReport) -> None:
        if self.away:
            raise ControllerAway("away")
        self.reports.append(report)

    @property
    def results(self) -> dict[str, ProbeResult]:
        return {result.address: result for report in self.reports for result in report.results}


def target(address: str = "10.2.0.1", mtu: int | None = 1450, near: str = "e1") -> ProbeTarget:
    return ProbeTarget(endpoint=near, remote="e2", address=address, mtu=mtu)


def request(number: int, targets: Iterable[ProbeTarget]) -> ProbeRequest:
    return ProbeRequest(cloudlet="c1", number=number, targets=list(targets))


@asynccontextmanager
async def running(one: Verifier) -> AsyncIterator[None]:
    task = asyncio.create_task(one.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "BATCH", 0.0)


async def test_what_passes_is_measured() -> None:
    found = await probe(Lan({"10.2.0.1": DEVICE}), target(), 1500)
    assert (found.resolved_ms, found.echo_ms, found.tried, found.mtu) == (1.25, 2.5, 1450, 1450)


@pytest.mark.parametrize("passes", [1449, 1400, 1280, 600, 576])
async def test_the_largest_packet_is_found(passes: int) -> None:
    lan = Lan({"10.2.0.1": GATEWAY}, passes)
    found = await probe(lan, target(), 1450)
    assert found.echo_ms == 2.5 and found.tried == 1450
    assert found.mtu is not None and passes - (1450 - SMALLEST) // 2**STEPS - 1 <= found.mtu <= passes
    assert len(lan.asked) < 20


async def test_a_path_that_takes_no_packet_of_the_smallest_size() -> None:
    found = await probe(Lan({"10.2.0.1": GATEWAY}, SMALLEST - 1), target(), 1450)
    assert (found.echo_ms, found.mtu) == (2.5, None)


async def test_a_lan_with_a_smaller_mtu_tries_no_larger_packet() -> None:
    lan = Lan({"10.2.0.1": GATEWAY})
    found = await probe(lan, target(), 1380)
    assert (found.tried, found.mtu) == (1380, 1380) and max(size for _, size in lan.asked) == 1380


async def test_single_losses_do_not_matter() -> None:
    found = await probe(Lan({"10.2.0.1": GATEWAY}, lost=TRIES - 1), target(), 1450)
    assert found.mtu == 1450


async def test_silence_and_filters() -> None:
    silent = await probe(Lan({}), target(), 1450)
    assert (silent.resolved_ms, silent.echo_ms, silent.mtu) == (None, None, None)
    filtered = await probe(Lan({"10.2.0.1": GATEWAY}, passes=SMALL - 1), target(), 1450)
    assert (filtered.resolved_ms, filtered.echo_ms, filtered.mtu) == (1.25, None, None)


async def test_where_nothing_may_pass_only_a_gateway_counts_and_no_packet_is_sent() -> None:
    lan = Lan({"10.2.0.1": GATEWAY, "10.3.0.1": DEVICE})
    leak = await probe(lan, target(mtu=None), 1450)
    assert leak.resolved_ms == 1.25 and leak.echo_ms is None
    assert (await probe(lan, target("10.3.0.1", None), 1450)).resolved_ms is None
    assert {size for _, size in lan.asked} == {0}


async def test_results_of_all_lans_are_reported_and_sockets_closed() -> None:
    lan, controller = Lan({"10.2.0.1": GATEWAY, "2001:db8:2::1": GATEWAY}), Controller()
    one = Verifier("c1", controller, lan.open)
    one.know(STATE)
    async with running(one):
        others = [target("10.5.0.1", None, "e9"), target("10.6.0.1", 1450, "e8")]
        one.intend(request(7, [target(), target("2001:db8:2::1"), *others]))
        await eventually(lambda: len(controller.results) == 4)
    assert {report.number for report in controller.reports} == {7}
    assert controller.results["2001:db8:2::1"].mtu == 1450 and controller.results["10.5.0.1"].resolved_ms is None
    assert "no such LAN" in controller.results["10.6.0.1"].problem
    assert lan.closed == 3


async def test_a_bridge_that_is_gone_is_said() -> None:
    def gone(lan: ProbingLan, turn: Callable[[], Awaitable[None]]) -> Lan:
        raise OSError(19, "No such device")

    controller = Controller()
    one = Verifier("c1", controller, gone)
    one.know(STATE)
    async with running(one):
        one.intend(request(1, [target()]))
        await eventually(lambda: controller.results)
    assert controller.results["10.2.0.1"].problem == "lan1 cannot be used: No such device"


async def test_a_newer_request_ends_the_one_before_and_the_same_one_runs_once() -> None:
    class Slow(Lan):
        async def resolve(self, address: str) -> tuple[float, str] | None:
            self.asked.append((address, 0))
            await asyncio.sleep(3600 if address == "10.9.0.1" else 0)
            return 1.0, GATEWAY

    lan, controller = Slow({}), Controller()
    one = Verifier("c1", controller, lan.open)
    one.know(STATE)
    async with running(one):
        one.intend(request(1, [target("10.9.0.1")]))
        await eventually(lambda: lan.asked)
        one.intend(request(2, [target()]))
        await eventually(lambda: controller.results)
        one.intend(request(2, [target()]))
        await asyncio.sleep(0)
    assert [report.number for report in controller.reports] == [2]
    assert lan.closed == 2, "also the sockets of the first one"


async def test_a_controller_that_is_away_does_not_end_the_agent() -> None:
    lan, controller = Lan({"10.2.0.1": GATEWAY}), Controller()
    controller.away = True
    one = Verifier("c1", controller, lan.open)
    one.know(STATE)
    async with running(one):
        one.intend(request(1, [target()]))
        await eventually(lambda: lan.closed == 1)
        controller.away = False
        one.intend(request(2, [target()]))
        await eventually(lambda: controller.results)


async def test_a_budget_lets_so_many_pass_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with monkeypatch.context() as still:
        still.setattr(asyncio, "sleep", sleep)
        still.setattr(asyncio.get_running_loop(), "time", lambda: 100.0)
        budget = Budget(50)
        for _ in range(10):
            await budget.turn()
    assert slept == pytest.approx([0.02 * number for number in range(1, 10)])
