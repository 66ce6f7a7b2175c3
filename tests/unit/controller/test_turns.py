"""Turns of the event loop: one at each pass, and each key in turn, however many others wait."""

import asyncio
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.turns import Turns


async def _orders(keys: list[str]) -> list[tuple[int, str]]:
    """Return the pass in which each of several simultaneous requests began."""
    turns, passes, began = Turns(), 0, list[tuple[int, str]]()

    async def one(key: str) -> None:
        await turns.wait(key)
        began.append((passes, key))

    tasks = [asyncio.create_task(one(key)) for key in keys]
    while len(began) < len(keys):
        await asyncio.sleep(0)
        passes += 1
    await asyncio.gather(*tasks)
    return began


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_one_begins_at_a_pass_and_all_do(keys: list[str]) -> None:
    began = asyncio.run(_orders(keys))
    assert Counter(key for _, key in began) == Counter(keys)
    assert all(many == 1 for many in Counter(at for at, _ in began).values())


def test_the_many_of_one_are_not_in_the_way_of_another() -> None:
    began = [key for _, key in asyncio.run(_orders(["hostile"] * 100 + ["good"]))]
    assert began.index("good") <= 2


async def test_places_given_up_hold_up_nobody() -> None:
    turns = Turns()
    await turns.wait("a")
    tasks = [asyncio.create_task(turns.wait("a")) for _ in range(100)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(5):
        await turns.wait("a")
    await asyncio.sleep(0)
    assert not turns._passing and not turns._lines, "nothing is kept of those that have gone"
