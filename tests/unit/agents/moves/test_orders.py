"""For any sequence of orders, restarts and failures: a machine gets no call without an order, and no older call after a
newer one."""

import asyncio
import tempfile
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.hypervisors.found import GROUP
from controller.wire.moves import Act, Order, Target
from tests.unit.agents.moves import recorder
from tests.unit.agents.moves.region import MACHINE, Cloudlet

ACTS: tuple[Act, ...] = ("prepare", "disk", "memory", "switchover", "activate", "join", "discard", "abort")
DECIDING = ("activate", "abort", "switchover", "prepare", "memory", "disk")

Step = tuple[str, list[tuple[str, int]], list[Act]]

orders = st.lists(st.tuples(st.sampled_from(["m1", "m2"]), st.integers(1, 8)), max_size=2, unique_by=lambda o: o[0])
some = st.lists(st.sampled_from(ACTS), min_size=1, max_size=2)
none: st.SearchStrategy[list[object]] = st.just([])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("orders"), orders, none),
        st.tuples(st.sampled_from(["restart", "away", "back", "clear", "wait"]), none, none),
        st.tuples(st.sampled_from(["fails", "hangs"]), none, some),
    ),
    min_size=3,
    max_size=12,
)


@settings(max_examples=60)
@given(acts=st.lists(st.sampled_from(ACTS), min_size=8, max_size=8), steps=steps)
def test_nothing_is_done_that_was_not_ordered(acts: list[Act], steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(play(Path(directory), acts, steps))


async def play(directory: Path, acts: list[Act], steps: list[Step]) -> None:
    """Play the steps; order number n of a move is for `acts[n - 1]`."""
    recorder.asked.clear()
    recorder.fails.clear()
    recorder.hangs.clear()
    cloudlet = Cloudlet("c1", directory)
    cloudlet.points = [EntryPoint("recorder", "tests.unit.agents.moves.recorder:driver", GROUP)]
    cloudlet.start()
    newest: dict[str, int] = {}
    numbers: dict[str, int] = {}
    seen = 0
    try:
        for what, ordered, calls in [*steps, ("wait", [], [])]:
            match what:
                case "orders":
                    wanted = [_order(move, number, acts) for move, number in ordered]
                    for order in wanted:
                        newest[order.move] = max(newest.get(order.move, 0), order.number)
                        numbers[order.move] = max(numbers.get(order.move, 0), order.number)
                    cloudlet.order(*wanted)
                case "restart":
                    await cloudlet.stop()
                    cloudlet.start()
                    newest = remembered(cloudlet)
                case "away" | "back":
                    cloudlet.ear.away = what == "away"
                case "clear":
                    recorder.fails.clear()
                    recorder.hangs.clear()
                case "fails":
                    recorder.fails.update(calls)
                case "hangs":
                    recorder.hangs.update(calls)
                case "wait":
                    await asyncio.sleep(0.03)
            await asyncio.sleep(0.002)
            for call, move in recorder.asked[seen:]:
                if call in DECIDING:
                    assert move in newest and call == acts[newest[move] - 1], f"{call} for {move} is not ordered"
            seen = len(recorder.asked)
            if what == "wait" and cloudlet.ear.heard:
                ended = [(p.move, p.number) for p in cloudlet.ear.heard if p.state != "running"]
                assert all(number <= numbers[move] for move, number in ended)
    finally:
        await cloudlet.stop()


@pytest.mark.parametrize("older", ["switchover", "memory"])
async def test_a_newer_order_lets_no_call_of_the_older_begin(older: Act, tmp_path: Path) -> None:
    """The newer one comes in the very turn of the event loop in which the older one has its first call before it."""
    recorder.asked.clear()
    recorder.fails.clear()
    recorder.hangs.clear()
    cloudlet = Cloudlet("c1", tmp_path)
    cloudlet.points = [EntryPoint("recorder", "tests.unit.agents.moves.recorder:driver", GROUP)]
    cloudlet.start()
    try:
        cloudlet.order(_order("m1", 1, [older, "join"]))
        async with asyncio.timeout(20):
            while not recorder.asked and not any(map(_about_to_call, asyncio.all_tasks())):  # noqa: ASYNC110 - turns
                await asyncio.sleep(0)
        before = list(recorder.asked)
        cloudlet.order(_order("m1", 2, [older, "join"]))
        await cloudlet.ear.ended(2)
        assert recorder.asked == before
    finally:
        await cloudlet.stop()


def _about_to_call(task: "asyncio.Task[object]") -> bool:
    return getattr(task.get_coro(), "__qualname__", "") == "carry_out"


def remembered(cloudlet: Cloudlet) -> dict[str, int]:
    """Return the orders that an agent remembers after a restart: it has no memory of orders that it had not begun."""
    assert cloudlet.moves is not None
    entries = {move: cloudlet.moves._journal.entry(move) for move in ("m1", "m2")}
    return {move: entry.order.number for move, entry in entries.items() if entry is not None}


def _order(move: str, number: int, acts: list[Act]) -> Order:
    return Order(
        move=move,
        number=number,
        act=acts[number - 1],
        machine=MACHINE.model_copy(update={"driver": "recorder"}),
        endpoint="c1-lan",
        target=Target(memory=["recorder:"]),
        fence_seconds=0.1,
    )
