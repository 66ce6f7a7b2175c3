"""The CPU of a VM: chosen, checked against agents' reports, settled at the start, and kept."""

from typing import Any

import pytest

from controller.core.understood import understood
from controller.migration import machine_reports
from controller.wire.machines import Machine, MachineState
from controller.wire.moves import Act, MoveReport, Order
from controller.wire.platforms import CpuModel, Platform
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.policies import done
from tests.unit.controller.vm_region import WEB, region, say

NEW = ["avx512f", "rdpid"]
POLICY = "apiVersion: weft/v1\nvcps: {blue: {members: [c1-lan, c2-lan]}}\nmigration: {cpu: CPU}\n"


def platform(*missing: str) -> Platform:
    """Return the platform of a cloudlet that lacks these of EPYC-Milan's features."""
    models = {
        "EPYC": CpuModel(features=60),
        "EPYC-Rome": CpuModel(features=70, missing=[name for name in missing if name == "rdpid"]),
        "EPYC-Milan": CpuModel(features=80, missing=list(missing)),
    }
    return Platform(version="1", board="b", accelerator="kvm", cpu="host", vendor="AuthenticAMD", models=models)


async def tell(controller: Controller, cloudlet: str, told: Platform | None) -> None:
    platforms = {"qemu": told} if told is not None else {}
    report = MoveReport(cloudlet=cloudlet, unlisted=["qemu"], platforms=platforms)
    async with controller.region.database.write() as session:
        await machine_reports.heard(session, controller.region.intent, report)


async def ready(controller: Controller, cpu: str = "baseline") -> None:
    """Prepare c1 with all of EPYC-Milan, and c2 without two of its features; both are in a pool."""
    await region(controller)
    await tell(controller, "c1", platform())
    await tell(controller, "c2", platform(*NEW))
    await done(controller, "apply", POLICY.replace("CPU", cpu))


async def stop(controller: Controller) -> None:
    await say(controller, "c1", MachineState(name="web", condition="running"))
    await say(controller, "c1", MachineState(name="web", condition="stopped"))


async def start(controller: Controller) -> str | None:
    """Start the VM; return the CPU in the agent's order."""
    shown = await controller.post("/vms/web/start", status=200)
    (order,) = (await controller.region.migration.moves.orders("c1")).orders
    assert order.machine.cpu == shown["cpu_settled"]
    return order.machine.cpu


async def test_it_is_settled_at_the_first_start_and_stays(controller: Controller) -> None:
    await ready(controller)
    made = await controller.post("/vms", WEB)
    assert (made["cpu"], made["cpu_settled"]) == ("policy", None)
    assert await start(controller) == "EPYC-Milan,-avx512f,-rdpid"
    last = (await controller.get("/events"))["items"][-1]
    assert last["text"] == "VM web is to start at c1-lan with the CPU EPYC-Milan,-avx512f,-rdpid"
    await stop(controller)
    await tell(controller, "c2", platform())
    assert await start(controller) == "EPYC-Milan,-avx512f,-rdpid", "as it was"
    await stop(controller)
    changed = await controller.http.patch("/api/v1/vms/web", json={"cpu": "baseline", "memory": 1 << 28})
    assert (changed.json()["cpu"], changed.json()["cpu_settled"]) == ("baseline", None)
    assert await start(controller) == "EPYC-Milan"
    await stop(controller)
    await controller.http.patch("/api/v1/vms/web", json={"memory": 1 << 29})
    await tell(controller, "c1", platform(*NEW))
    answer = await controller.http.post("/api/v1/vms/web/start")
    problem(answer, 409, "cpu", "c1 cannot give guests the CPU EPYC-Milan: it lacks avx512f, rdpid; the newest")


async def test_by_default_it_is_the_drivers_own(controller: Controller) -> None:
    await ready(controller, "host")
    await controller.post("/vms", WEB)
    assert await start(controller) is None
    (order,) = (await controller.region.migration.moves.orders("c1")).orders
    assert '"cpu"' not in order.model_dump_json(), "older agents do not know it"


async def test_a_model_is_checked_against_what_the_agent_reports(controller: Controller) -> None:
    await region(controller)
    await controller.refused(
        422, "/vms", WEB | {"cpu": "basline"}, "cpu", "is not a CPU model: did you mean 'baseline'?"
    )
    await controller.refused(422, "/vms", WEB | {"cpu": "EPYC,+avx"}, "cpu", "as in EPYC-Rome,-rdpid")
    await controller.post("/vms", WEB | {"cpu": "EPYC-Milan"})
    answer = await controller.http.post("/api/v1/vms/web/start")
    problem(answer, 409, "cpu", "c1 does not report which CPU models it can give guests")
    await tell(controller, "c1", platform("avx512f"))
    answer = await controller.http.patch("/api/v1/vms/web", json={"cpu": "epyc-rmoe"})
    problem(answer, 409, "cpu", "c1 knows no CPU model 'epyc-rmoe': did you mean 'EPYC-Rome'?")
    answer = await controller.http.post("/api/v1/vms/web/start")
    problem(answer, 409, "cpu", "c1 cannot give guests the CPU EPYC-Milan: it lacks avx512f")
    assert (await controller.http.patch("/api/v1/vms/web", json={"cpu": "EPYC-Rome"})).status_code == 200
    assert await start(controller) == "EPYC-Rome"


async def test_a_prediction_names_a_cpu_that_the_destination_cannot_give(controller: Controller) -> None:
    await ready(controller)
    await controller.post("/vms", WEB | {"cpu": "EPYC-Milan"})
    await start(controller)
    await say(controller, "c1", MachineState(name="web", condition="running"))
    asked = {"vm": "web", "endpoint": "c2-lan"}
    said = (
        "c2 cannot give guests the CPU EPYC-Milan: it lacks avx512f, rdpid; the newest that it has is EPYC-Milan,-avx5"
    )
    found = await controller.get("/moves/prediction", **asked)
    assert found["course"] == "stay" and found["reasons"][0].startswith(f"CPU: {said}")
    await tell(controller, "c2", None)
    found = await controller.get("/moves/prediction", **asked)
    assert found["reasons"][0].startswith("CPU: c2 does not report which CPU models it can give guests")
    await tell(controller, "c2", platform().model_copy(update={"cpu": "qemu64", "features": ["sse2"]}))
    found = await controller.get("/moves/prediction", **asked)
    assert not any("CPU" in reason for reason in found["reasons"]), "whatever its driver gives by itself"


MACHINE: dict[str, Any] = {"name": "v", "driver": "qemu", "image": "i", "memory": 1 << 28}
MACHINE |= {"macs": ("52:54:00:00:00:0a", "52:54:00:00:00:0b")}


@pytest.mark.parametrize("told", [{}, {"qemu": False}, {"libvirt": True}, {"qemu": True}])
@pytest.mark.parametrize("act", ["start", "prepare", "memory", "stop", "discard"])
@pytest.mark.parametrize("cpu", [None, "EPYC"])
def test_no_machine_is_made_with_another_cpu_than_its_own(told: dict[str, bool], act: Act, cpu: str | None) -> None:
    """An agent that does not know CPUs of machines gets no order with one: it would refuse all its orders."""
    order = Order(move="m", number=1, act=act, machine=Machine(**MACHINE, cpu=cpu), endpoint="e")
    found = list(understood([order], told))
    if told.get("qemu") or cpu is None:
        assert found == [order]
    elif act in ("start", "prepare"):
        assert found == []
    else:
        assert [(one.act, one.machine.cpu) for one in found] == [(act, None)]


async def test_the_doctor_names_a_cloudlet_that_has_come_to_lack_it(controller: Controller) -> None:
    async def named() -> list[str]:
        found = await controller.get("/doctor")
        return [one["text"] for one in found["differences"] if one["kind"] == "vm-cpu"]

    await ready(controller)
    await tell(controller, "c2", platform("avx512f"))
    await controller.post("/vms", WEB)
    assert await start(controller) == "EPYC-Milan,-avx512f" and await named() == []
    await tell(controller, "c2", platform("rdpid"))
    [text] = await named()
    assert text.startswith(
        "web at c1-lan cannot move to c2: c2 cannot give guests the CPU EPYC-Milan,-avx512f: it lacks rdpid"
    )
