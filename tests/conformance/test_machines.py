"""Machines outside of any move."""

import pytest

from agents.hypervisors.hypervisor import Fenced, HypervisorError
from tests.conformance.pair import ELSEWHERE, Pair


async def test_capabilities_name_a_version(pair: Pair) -> None:
    assert (await pair.can()).version


async def test_a_started_machine_runs(pair: Pair) -> None:
    assert not await pair.within(pair.here.machines())
    await pair.take("start")
    state = (await pair.within(pair.here.machines()))[pair.name]
    assert (state.name, state.condition, state.serving) == (pair.name, "running", "a")


async def test_one_that_runs_is_not_started_again(pair: Pair) -> None:
    await pair.take("start")
    before = await pair.identity(pair.here)
    await pair.take("start")
    pair.restart()
    await pair.take("start")
    assert await pair.condition(pair.here) == "running"
    assert await pair.identity(pair.here) == before


async def test_a_machine_survives_the_agent(pair: Pair) -> None:
    await pair.take("start")
    before = await pair.identity(pair.here)
    pair.restart()
    assert await pair.condition(pair.here) == "running"
    assert await pair.identity(pair.here) == before


async def test_stopped_is_stopped_and_can_be_started_again(pair: Pair) -> None:
    await pair.take("start")
    for _ in range(2):
        await pair.within(pair.here.stop(pair.name))
        assert await pair.condition(pair.here) in ELSEWHERE
    await pair.take("start")
    assert await pair.condition(pair.here) == "running"


async def test_held_does_not_run_and_is_held_over_a_restart(pair: Pair) -> None:
    await pair.take("start")
    for _ in range(2):
        await pair.within(pair.here.hold(pair.name))
        assert await pair.condition(pair.here) == "paused"
    pair.restart()
    assert await pair.condition(pair.here) == "paused"


async def test_what_runs_is_not_discarded(pair: Pair) -> None:
    await pair.take("start")
    with pytest.raises(Fenced):
        await pair.take("discard")
    assert await pair.condition(pair.here) == "running"


async def test_what_is_not_there_is_held_aborted_discarded_and_stopped_already(pair: Pair) -> None:
    await pair.within(pair.here.hold(pair.name))
    await pair.abort()
    await pair.take("discard")
    await pair.within(pair.here.stop(pair.name))
    assert await pair.conditions() == ("gone", "gone")
    assert not await pair.within(pair.here.arrived(pair.name, "m1"))


async def test_what_is_not_there_cannot_be_activated_or_linked(pair: Pair) -> None:
    with pytest.raises(HypervisorError):
        await pair.take("activate")
    with pytest.raises(HypervisorError):
        await pair.take("switchover")
    with pytest.raises(HypervisorError):
        await pair.within(pair.here.link(pair.name, "a", True))


async def test_cables_go_in_and_out_and_it_announces_itself(pair: Pair) -> None:
    await pair.take("start")
    for nic, up in (("b", True), ("b", True), ("a", False), ("a", False), ("a", True), ("b", False)):
        await pair.within(pair.here.link(pair.name, "a" if nic == "a" else "b", up))
    await pair.within(pair.here.announce(pair.name))
    assert await pair.condition(pair.here) == "running"


async def test_a_program_in_the_guest(pair: Pair) -> None:
    await pair.take("start")
    if not (await pair.can()).guest:
        with pytest.raises(HypervisorError):
            await pair.within(pair.here.guest(pair.name, "/bin/true"))
        return
    assert pair.bench.echo is not None, "a driver with guests needs `echo` in its bench"
    assert (await pair.within(pair.here.guest(pair.name, pair.bench.echo, "a b", "c"))).strip() == "a b c"
    with pytest.raises(HypervisorError):
        await pair.within(pair.here.guest(pair.name, "/there/is/no/such/program"))


async def test_one_that_crashed_does_not_run_and_can_be_cleared_away(pair: Pair) -> None:
    if pair.bench.kill is None:
        pytest.skip("the bench cannot kill a machine")
    await pair.take("start")
    await pair.within(pair.bench.kill(pair.here, pair.name))
    assert await pair.condition(pair.here) in ELSEWHERE
    pair.restart()
    assert await pair.condition(pair.here) in ELSEWHERE
    await pair.take("discard")
    assert await pair.condition(pair.here) == "gone"


async def test_one_that_does_not_answer_may_run_and_is_left_alone(pair: Pair) -> None:
    await pair.take("start")
    before = await pair.identity(pair.here)
    await pair.freeze(pair.here)
    await pair.becomes(pair.here, "unresponsive")
    pair.restart()
    assert await pair.condition(pair.here) == "unresponsive"
    for call in (pair.take("start"), pair.take("discard"), pair.within(pair.here.hold(pair.name))):
        with pytest.raises(HypervisorError):
            await call
    await pair.freeze(pair.here, frozen=False)
    await pair.becomes(pair.here, "running")
    assert await pair.identity(pair.here) == before


async def test_one_that_does_not_answer_is_stopped_by_ending_it(pair: Pair) -> None:
    await pair.take("start")
    await pair.freeze(pair.here)
    await pair.within(pair.here.stop(pair.name))
    assert await pair.condition(pair.here) in ELSEWHERE
