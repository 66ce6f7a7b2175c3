"""Execution of orders: once, in order, whatever the hypervisor answers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agents.hypervisors.simulated.machines import Machines
from agents.moves import moves
from controller.wire.delegations import Client
from controller.wire.leases import LeaseRelease
from controller.wire.machines import client_id
from controller.wire.moves import Act, Addresses
from tests.unit.agents.moves.region import MACHINE, WAY, Region, region


@pytest_asyncio.fixture
async def two(tmp_path: Path) -> AsyncIterator[Region]:
    async with region(tmp_path) as made:
        yield made


async def test_a_whole_move(two: Region) -> None:
    await two.carry("c1", "start", move="m0")
    figures = {}
    for name, act in WAY:
        ended = await two.carry(name, act)
        assert ended.state == "done", ended
        figures[act] = ended.figures
        assert [two.c1.condition(), two.c2.condition()].count("running") == (0 if act == "switchover" else 1)
    assert (two.c1.condition(), two.c2.condition()) == ("gone", "running")
    assert (two.c1.ear.machines, two.c2.ear.machines) == ({"vm1": "gone"}, {"vm1": "running"})
    assert figures["memory"].wire and figures["switchover"].paused_ms
    record = Machines(two.c2.state).read("vm1")
    assert record is not None and record.announced == 1
    assert (record.links, record.serving) == ({"a": False, "b": True}, "b")


async def test_a_machine_is_let_in_before_it_comes_and_not_after_it_has_left(two: Region) -> None:
    await two.carry("c1", "start", move="m0")
    for name, act in WAY:
        await two.carry(name, act)
    assert two.c1.door == [("admit", "start"), ("dismiss", "discard")]
    assert two.c2.door == [("admit", "prepare"), ("admit", "activate")]
    await two.carry("c2", "stop", move="m0")
    assert two.c2.door[-1] == ("dismiss", "stop")


async def test_a_move_that_keeps_its_address_keeps_its_vnic(two: Region) -> None:
    await two.until("activate")
    addresses = {"old": "10.1.0.3"}
    order = two.make("c2", "activate")
    order = order.model_validate({**order.model_dump(), "addresses": addresses})
    two.c2.order(order)
    await two.c2.ear.ended(order.number)
    record = Machines(two.c2.state).read("vm1")
    assert record is not None and (record.links, record.serving) == ({"a": True, "b": False}, "a")


async def test_a_machine_is_known_where_it_will_ask_for_its_address(two: Region) -> None:
    await two.until("prepare")
    for _ in range(2):  # the second call to the leases fails, which must not fail the order
        assert (await two.carry("c2", "prepare")).state == "done"
    assert two.c2.met == [("c2-lan", Client(mac=MACHINE.macs[1], client_id=client_id("vm1")))] * 2 and not two.c1.met


async def test_a_machine_that_is_discarded_gives_its_old_address_up(two: Region) -> None:
    await two.until("discard")
    kept = Addresses(old="10.1.0.3")
    assert (await two.carry("c1", "discard", addresses=kept)).state == "done"
    assert two.c1.released == []
    for _ in range(2):  # the second release of the lease fails, which must not fail the order
        assert (await two.carry("c1", "discard")).state == "done"
    lease = LeaseRelease(endpoint="c1-lan", address="10.1.0.3", mac=MACHINE.macs[0], client_id=client_id("vm1"))
    assert two.c1.released == [lease] * 2 and two.c2.released == []


async def test_the_gateway_forgets_an_address_that_was_given_back(two: Region) -> None:
    await two.until("leave")
    assert (await two.carry("c2", "leave", addresses=Addresses(old="10.1.0.3"))).state == "done"
    assert two.c2.forgotten == []  # the VM has kept the address
    assert (await two.carry("c2", "leave")).state == "done"
    assert two.c2.forgotten == [("lan1", ("10.1.0.3", "2001:db8:1::3"))] and two.c1.forgotten == []


@pytest.mark.parametrize(("name", "act"), WAY)
async def test_asked_again_it_answers_again(two: Region, name: str, act: Act) -> None:
    await two.until(act)
    first = await two.carry(name, act)
    cloudlet = two.cloudlet(name)
    for restart in (False, True):
        await cloudlet.idle()
        if restart:
            await cloudlet.stop()
            cloudlet.start()
        cloudlet.ear.heard.clear()
        before = cloudlet.condition()
        cloudlet.order(two.make(name, act, number=first.number))
        again = await cloudlet.ear.ended(first.number)
        assert (again.state, again.target, cloudlet.condition()) == ("done", first.target, before)
        if act == "switchover":
            assert again.figures == first.figures


async def test_an_order_that_was_overtaken_is_not_carried_out(two: Region) -> None:
    await two.until("switchover")
    late = two.make("c1", "switchover")
    assert (await two.carry("c1", "abort")).state == "done"
    two.c1.order(late)
    await two.c1.stop()
    two.c1.start()
    two.c1.order(late)
    assert (await two.carry("c1", "start", move="m2")).state == "done"
    assert two.c1.condition() == "running"
    assert not [p for p in two.c1.ear.heard if p.number == late.number]


async def test_a_newer_order_ends_the_older_ones_work(two: Region) -> None:
    await two.until("memory")
    two.c1.faults.set("memory", "hangs")
    memory = two.make("c1", "memory")
    two.c1.order(memory)
    await two.c1.ear.until(lambda p: p.number == memory.number and p.state == "running")
    assert (await two.carry("c1", "abort")).state == "done"
    assert two.c1.condition() == "running"
    assert not [p for p in two.c1.ear.heard if p.number == memory.number and p.state != "running"]


async def test_an_order_that_vanished_is_let_go_of_and_not_undone(two: Region) -> None:
    await two.until("memory")
    two.c1.faults.set("memory", "hangs")
    memory = two.make("c1", "memory")
    two.c1.order(memory)
    await two.c1.ear.until(lambda p: p.number == memory.number)
    two.c1.order()
    assert (await two.carry("c1", "start", move="m2")).state == "done"
    record = Machines(two.c1.state).read("vm1")
    assert record is not None and (record.condition, record.leaving) == ("running", "m1")
    assert not [p for p in two.c1.ear.heard if p.number == memory.number and p.state != "running"]


@pytest.mark.parametrize(
    ("kind", "state", "said"),
    [("fails", "failed", "simulated failure at prepare"), ("refuses", "refused", "simulated refusal at prepare")],
)
async def test_what_goes_wrong_is_said(two: Region, kind: str, state: str, said: str) -> None:
    two.c2.faults.set("prepare", "fails" if kind == "fails" else "refuses")
    ended = await two.carry("c2", "prepare")
    assert (ended.state, ended.detail) == (state, said)
    assert (await two.carry("c2", "prepare")).state == "done"


async def test_fenced_is_a_failure_with_its_reason(two: Region) -> None:
    await two.until("switchover")
    ended = await two.carry("c2", "activate")
    assert ended.state == "failed" and "its state is not all here" in ended.detail
    assert (two.c1.condition(), two.c2.condition()) == ("running", "waiting")


async def test_a_defect_of_a_driver_is_a_failure_and_the_agent_goes_on(
    two: Region, caplog: pytest.LogCaptureFixture
) -> None:
    (two.c2.state / "faults.json").write_text("not JSON")
    ended = await two.carry("c2", "prepare")
    assert ended.state == "failed" and "a defect of the driver simulated" in ended.detail
    assert "Traceback" in caplog.text
    two.c2.faults._path.unlink()
    assert (await two.carry("c2", "prepare")).state == "done"


async def test_a_start_that_failed_is_tried_again_as_long_as_it_is_ordered(
    two: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "_AGAIN", 0.01)
    two.c1.faults.set("start", "fails", times=3)
    order = two.make("c1", "start", move="vm1")
    two.c1.order(order)
    await two.c1.ear.until(lambda p: p.state == "done")
    assert [p.state for p in two.c1.ear.heard if p.state != "running"] == ["failed"] * 3 + ["done"]


async def test_a_stop_is_no_move_and_takes_a_start_back(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_AGAIN", 0.01)
    two.c1.faults.set("start", "hangs")
    two.c1.order(two.make("c1", "start", move="vm1", number=3))
    await two.c1.ear.until(lambda p: p.number == 3)
    assert (await two.carry("c1", "stop", move="vm1", number=4)).state == "done"
    assert two.c1.condition() in ("gone", "stopped")
    assert (await two.carry("c1", "start", move="vm1", number=5)).state == "done"
    two.c1.faults.set("stop", "fails", times=2)
    order = two.make("c1", "stop", move="vm1", number=6)
    two.c1.order(order)
    await two.c1.ear.until(lambda p: p.number == 6 and p.state == "done")
    assert [p.state for p in two.c1.ear.heard if p.number == 6 and p.state != "running"] == ["failed"] * 2 + ["done"]
    assert two.c1.condition() == "stopped"
    await two.c1.idle()
    await two.c1.stop()
    two.c1.start()
    two.c1.ear.heard.clear()
    two.c1.order(order)  # the order is repeated after a restart
    assert (await two.c1.ear.ended(6)).state == "done"


async def test_a_vm_of_the_same_name_is_another_and_is_started(two: Region) -> None:
    assert (await two.carry("c1", "start", move="vm1", number=7)).state == "done"
    Machines(two.c1.state).remove("vm1")
    two.c1.ear.heard.clear()
    order = two.make("c1", "start", move="vm1", number=2)
    two.c1.order(order)
    assert (await two.c1.ear.ended(2)).state == "done"
    assert two.c1.condition() == "running"


async def test_what_this_cloudlet_does_not_have_is_refused(two: Region) -> None:
    machine = two.make("c2", "prepare").machine
    ended = await two.carry("c2", "prepare", machine=machine.model_copy(update={"driver": "xen"}))
    assert ended.state == "refused" and "there is no hypervisor driver xen" in ended.detail
    full = await two.carry("c2", "prepare", machine=machine.model_copy(update={"memory": 1 << 45}))
    assert full.state == "done"
    full = await two.carry("c2", "prepare", move="m2", machine=machine.model_copy(update={"name": "vm2"}))
    assert full.state == "done"


async def test_a_target_that_is_not_named_is_refused(two: Region) -> None:
    await two.until("memory")
    ended = await two.carry("c1", "memory", target=None)
    assert ended.state == "refused" and "does not say where to" in ended.detail
