"""VMs that start, stop, end, or do not answer: what the controller orders and shows."""

import pytest

from controller.migration import machine_reports
from controller.wire.machines import MachineState
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.vm_region import WEB, answer, begin_move, ordered, region, say


async def test_starting(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)

    async def starting() -> list[str]:
        async with controller.region.database.read() as session:
            rows = await machine_reports.turning(session, controller.region.intent, "c1")
        numbers.extend(row.revision for row in rows if row.revision not in numbers)
        return [row.name for row in rows]

    async def fails(number: int, *, final: bool = True) -> None:
        await answer(controller, "start", number, "refused" if final else "failed", "there is no image debian")

    numbers: list[int] = []
    assert await starting() == []
    assert (await controller.post("/vms/web/start", status=200))["condition"] == "starting"
    assert await starting() == ["web"]
    await say(controller, "c1")  # not yet
    assert await starting() == ["web"]
    problem(await controller.http.delete("/api/v1/vms/web"), 409, None, "web is starting")
    await say(controller, "c1", MachineState(name="web", condition="running", memory_used=7, dirty_rate=8.5))
    assert await starting() == []
    shown = await controller.get("/vms/web")
    assert (shown["condition"], shown["memory_used"], shown["dirty_rate"]) == ("running", 7, 8.5)
    assert (await controller.post("/vms/web/start", status=200))["condition"] == "running"
    await say(controller, "c2", MachineState(name="web", condition="moved"))  # a trace of an earlier move
    assert (await controller.get("/vms/web"))["condition"] == "running"
    await say(controller, "c1", MachineState(name="web", condition="paused"))
    problem(await controller.http.post("/api/v1/vms/web/start"), 409, None, "paused at c1-lan, and cannot be started")
    await say(controller, "c1", MachineState(name="web", condition="stopped", detail="it crashed"))
    last = (await controller.get("/events"))["items"][-1]
    assert (last["type"], last["text"]) == ("vm-stopped", "VM web is stopped at c1-lan: it crashed")
    await controller.post("/vms/web/start", status=200)
    assert await starting() == ["web"] and len(numbers) == 2
    await fails(numbers[0])  # an answer to the first order
    await fails(numbers[1], final=False)
    assert await starting() == ["web"]
    await fails(numbers[1])
    assert await starting() == []
    assert (await controller.get("/vms/web"))["condition"] == "gone"
    last = (await controller.get("/events"))["items"][-1]
    assert (last["type"], last["text"]) == (
        "vm-not-started",
        "VM web cannot be started at c1-lan: there is no image debian",
    )


async def test_stopping(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    running = MachineState(name="web", condition="running")
    assert (await controller.post("/vms/web/stop", status=200))["condition"] == "gone", "it does not run"
    await say(controller, "c1", running)
    assert (await controller.post("/vms/web/stop", status=200))["condition"] == "stopping"
    first = (await ordered(controller))[0]
    assert (await controller.post("/vms/web/stop", status=200))["condition"] == "stopping"
    assert await ordered(controller) == [first] and first[0] == "stop"
    problem(await controller.http.post("/api/v1/vms/web/start"), 409, None, "web is stopping at c1-lan, and cannot")
    problem(await controller.http.delete("/api/v1/vms/web"), 409, None, "web is stopping at c1-lan")
    move = await controller.http.post("/api/v1/moves", json={"vm": "web", "endpoint": "c2-lan"})
    problem(move, 409, "vm", "web is stopping at c1-lan: only a VM that runs can be moved")
    await say(controller, "c1", running)  # not yet
    await answer(controller, "stop", first[1] - 1, "done")  # an answer to another order
    await answer(controller, "stop", first[1], "failed", "QEMU cannot be ended")
    assert await ordered(controller) == [first], "it is tried again"
    await answer(controller, "stop", first[1], "done")
    assert await ordered(controller) == [] and (await controller.get("/vms/web"))["condition"] == "stopped"
    found = [(event["type"], event["text"]) for event in (await controller.get("/events"))["items"]]
    assert found[-3:] == [
        ("vm-stopping", "VM web is to stop at c1-lan"),
        ("vm-not-stopped", "VM web could not be stopped yet at c1-lan: QEMU cannot be ended"),
        ("vm-stopped", "VM web is stopped at c1-lan"),
    ]


async def test_a_stop_takes_a_start_back(controller: Controller) -> None:
    """The stop counts as done when the agent reports it, not when the machine is not listed, whatever the agent has
    done with the start."""
    await region(controller)
    await controller.post("/vms", WEB)
    await controller.post("/vms/web/start", status=200)
    started = (await ordered(controller))[0]
    assert (await controller.post("/vms/web/stop", status=200))["condition"] == "stopping"
    stopped = (await ordered(controller))[0]
    assert (started[0], stopped[0]) == ("start", "stop") and stopped[1] > started[1]
    await say(controller, "c1")
    assert await ordered(controller) == [stopped]
    await answer(controller, "start", started[1], "failed", "no memory")
    await answer(controller, "stop", stopped[1], "done")
    assert await ordered(controller) == [] and (await controller.get("/vms/web"))["condition"] == "stopped"
    await controller.post("/vms/web/start", status=200)
    assert (await ordered(controller))[0][0] == "start"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (MachineState(name="web", condition="stopped", detail="the guest has panicked"), "the guest has panicked"),
        (MachineState(name="web", condition="stopped"), "its hypervisor does not say why"),
        (None, "its hypervisor does not know it any more"),
    ],
)
async def test_one_that_ends_by_itself_does_not_look_like_one_that_was_stopped(
    controller: Controller, state: MachineState | None, why: str
) -> None:
    await region(controller)
    await controller.post("/vms", WEB)

    async def ends() -> tuple[str | None, list[str]]:
        found = [d for d in (await controller.get("/doctor"))["differences"] if d["kind"].startswith("vm-")]
        assert all(d["remedy"] for d in found)
        return (await controller.get("/vms/web"))["ended"], [d["text"] for d in found]

    states = () if state is None else (state,)
    await say(controller, "c1", *states)
    assert await ends() == (None, []), "it never ran"
    await controller.post("/vms/web/start", status=200)
    await say(controller, "c1", MachineState(name="web", condition="running", serving="a"))
    assert await ends() == (None, [])
    await say(controller, "c1", *states)
    assert await ends() == (why, [f"The VM web ended by itself at c1-lan: {why}."])
    await say(controller, "c1")
    assert (await ends())[0] == why, "the reason stays"
    await controller.post("/vms/web/stop", status=200)
    assert await ends() == (None, []), "it is as somebody wants it"
    await controller.post("/vms/web/start", status=200)
    await say(controller, "c1", MachineState(name="web", condition="unresponsive"))
    await say(controller, "c1", MachineState(name="web", condition="running", serving="a"))
    await say(controller, "c1", MachineState(name="web", condition="unresponsive"))
    assert (await ends())[1] == ["Whether the VM web at c1-lan runs is not known: its hypervisor does not answer."]
    await controller.post("/vms/web/stop", status=200)
    await say(controller, "c1", *states)
    await answer(controller, "stop", (await ordered(controller))[0][1], "done")
    assert await ends() == (None, []), "somebody has stopped it"


async def test_one_that_does_not_answer_may_run(controller: Controller) -> None:
    """The VM can be neither started, moved nor removed; it can be stopped, and it runs again once its driver says
    so."""
    await region(controller)
    await controller.post("/vms", WEB)
    running = MachineState(name="web", condition="running", serving="a")
    silent = MachineState(name="web", condition="unresponsive", detail="QEMU does not answer")
    await controller.post("/vms/web/start", status=200)
    first = await ordered(controller)
    await say(controller, "c1", silent)
    assert (await controller.get("/vms/web"))["condition"] == "starting" and await ordered(controller) == first
    await say(controller, "c1", running)
    await say(controller, "c1", silent)
    last = (await controller.get("/events"))["items"][-1]
    assert (last["type"], last["text"]) == ("vm-unresponsive", "VM web is unresponsive at c1-lan: QEMU does not answer")
    listed = await controller.get("/vms?condition=unresponsive")
    assert [vm["name"] for vm in listed["items"]] == ["web"]
    problem(await controller.http.post("/api/v1/vms/web/start"), 409, None, "web is unresponsive at c1-lan, and cannot")
    problem(await controller.http.delete("/api/v1/vms/web"), 409, None, "web is unresponsive at c1-lan: stop it before")
    move = await controller.http.post("/api/v1/moves", json={"vm": "web", "endpoint": "c2-lan"})
    problem(move, 409, "vm", "web is unresponsive at c1-lan: only a VM that runs can be moved")
    left = await controller.post("/cloudlets/c1/evacuation")
    assert (left["moves"], left["moving"], left["stranded"]) == ([], [], ["web"])
    await say(controller, "c1", running)
    assert (await controller.get("/vms/web"))["condition"] == "running"
    await say(controller, "c1", silent)
    assert (await controller.post("/vms/web/stop", status=200))["condition"] == "stopping"
    assert [act for act, _ in await ordered(controller)] == ["stop"]


async def test_what_could_not_be_listed_is_not_gone(controller: Controller) -> None:
    """The agent started while its hypervisor did not answer, and does not know its machines."""
    await region(controller)
    await controller.post("/vms", WEB)
    await say(controller, "c1", MachineState(name="web", condition="running"))
    await say(controller, "c1", unlisted=("qemu",))
    assert (await controller.get("/vms/web"))["condition"] == "running"
    await say(controller, "c1", unlisted=("libvirt",))
    assert (await controller.get("/vms/web"))["condition"] == "gone"


async def test_what_moves_is_not_stopped(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    await say(controller, "c1", MachineState(name="web", condition="running"))
    await begin_move(controller, "web")
    problem(await controller.http.post("/api/v1/vms/web/stop"), 409, None, "web is being moved (mv1), and cannot be st")
    problem(await controller.http.post("/api/v1/vms/nobody/stop"), 404, None, "no VM 'nobody'")
