"""VMs: a device has one at most, DHCP knows it on either vNIC, and the controller stores its agent's reports."""

from datetime import timedelta
from re import fullmatch
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.clock import now
from controller.core.machines import mac
from controller.core.macs import mac_of
from controller.db import vms as table
from controller.db.moves import MoveRow
from controller.migration import machine_reports
from controller.wire.machines import MachineState
from controller.wire.moves import MoveReport, Progress
from controller.wire.names import MAC_PATTERN
from tests.unit.controller.conftest import Controller, problem

ONE, TWO = "02:00:5e:00:00:01", "02:00:5e:00:00:02"
WEB = {"name": "web", "device": "m1", "endpoint": "c1-lan", "driver": "qemu", "image": "debian", "memory": 1 << 29}


async def region(controller: Controller, *devices: str) -> None:
    await controller.cloudlet("c1", 1)
    await controller.cloudlet("c2", 2)
    for number, name in enumerate(devices or ("m1",)):
        await controller.post("/devices", {"name": name, "mac": f"02:00:5e:00:01:{number:02x}"})


async def say(controller: Controller, cloudlet: str, *states: MachineState, unlisted: tuple[str, ...] = ()) -> None:
    report = MoveReport(cloudlet=cloudlet, machines=list(states), unlisted=list(unlisted))
    async with controller.region.database.write() as session:
        await machine_reports.heard(session, controller.region.intent, report)


async def ordered(controller: Controller) -> list[tuple[str, int]]:
    """Return c1's orders to start and stop, with their revisions."""
    return [(order.act, order.number) for order in (await controller.region.migration.moves.orders("c1")).orders]


async def answer(controller: Controller, act: str, number: int, state: str, detail: str = "") -> None:
    said = {"move": "web", "number": number, "act": act, "state": state, "detail": detail}
    async with controller.region.database.write() as session:
        await machine_reports.turned(session, Progress.model_validate(said))


async def begin_move(controller: Controller, vm: str) -> None:
    row = MoveRow(name="mv1", vm=vm, device="m1", source="c1", destination="c2", live=vm, state="x", step="x", saga={})
    async with controller.region.database.write() as session:
        session.add(row)


async def test_a_vm_is_added_shown_and_removed(controller: Controller) -> None:
    await region(controller)
    disk = {"base": "debian", "bytes": 1 << 30}
    made = await controller.post("/vms", WEB | {"vcpus": 2, "disk": disk, "options": {"cpu": "max"}})
    assert (made["cloudlet"], made["condition"], made["serving"], made["address"]) == ("c1", "gone", "a", None)
    assert (made["disk"], made["options"], made["vcpus"], made["move"]) == (disk, {"cpu": "max"}, 2, None)
    assert made["client_id"] == "00" + b"web".hex() and made["macs"] == [mac("web", "a"), mac("web", "b")]
    assert await controller.get("/vms/web") == made
    assert (await controller.get("/devices/m1"))["vm"] == {"mac": None, "client_id": "00776562"}
    await controller.delete("/vms/web", 204)
    problem(await controller.http.get("/api/v1/vms/web"), 404, None, "no VM 'web'")
    problem(await controller.http.delete("/api/v1/vms/web"), 404, None, "no VM 'web'")
    assert (await controller.get("/devices/m1"))["vm"] is None
    types = [event["type"] for event in (await controller.get("/events"))["items"]]
    assert types[-2:] == ["vm-added", "vm-removed"]


async def test_added_once_by_its_key(controller: Controller) -> None:
    await region(controller)
    answers = [await controller.http.post("/api/v1/vms", json=WEB, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json() and answers[1].headers["Idempotency-Replayed"] == "true"


async def test_either_vnic_gets_the_address_above_the_devices(controller: Controller) -> None:
    await region(controller, "m1")
    agent = await controller.agent("c3", 3)
    await controller.post("/vms", WEB | {"endpoint": "c3-lan"})
    known = (await agent.lease(endpoint="c3-lan", mac="02:00:5e:00:01:00")).json()["address"]
    for nic in ("a", "b"):
        answer = await agent.lease(endpoint="c3-lan", mac=mac("web", nic), client_id="00776562")
        assert (known, answer.json()["address"]) == ("10.3.0.2", "10.3.0.3")
    await say(controller, "c3", MachineState(name="web", condition="running", serving="b"))
    shown = await controller.get("/vms/web")
    assert (shown["address"], shown["serving"], shown["condition"]) == ("10.3.0.3", "b", "running")


async def test_what_the_other_vnic_leases_is_not_what_a_vm_is_known_by(controller: Controller) -> None:
    """This is the state after a move that could not remove the old address."""
    await region(controller)
    agent = await controller.agent("c3", 3)
    await controller.post("/vms", WEB | {"endpoint": "c3-lan"})
    async with controller.region.database.write() as session:
        row = await table.get(session, "web", lock=True)
        assert row is not None
        row.serving, row.address = "b", "10.9.0.3"
    new = (await agent.lease(endpoint="c3-lan", mac=mac("web", "a"), client_id="00776562")).json()["address"]
    running = MachineState(name="web", condition="running", serving="b")
    await say(controller, "c3", running)
    shown = await controller.get("/vms/web")
    assert (shown["address"], shown["serving"], shown["condition"]) == ("10.9.0.3", "b", "running")
    # The lost report arrives after all: the vNICs have changed roles.
    await say(controller, "c3", running.model_copy(update={"serving": "a"}))
    shown = await controller.get("/vms/web")
    assert (shown["address"], shown["serving"]) == (new, "a") != ("10.9.0.3", "b")


CLASHES: list[tuple[dict[str, Any], int, str, str]] = [
    ({}, 409, "name", "there is a VM 'web' already"),
    ({"name": "other"}, 409, "device", "m1 has a VM already, web"),
    ({"name": "other", "device": "m2", "macs": [ONE, mac("web", "b")]}, 409, "macs", "is the VM web's"),
    ({"name": "other", "device": "m2", "macs": [ONE, "02:00:5e:00:01:00"]}, 409, "macs", "is m1's"),
    ({"name": "other", "device": "m2", "macs": [ONE, ONE]}, 422, "macs", f"both vNICs have {ONE}"),
    ({"name": "other", "device": "m2", "macs": [ONE, "01:00:5e:00:00:01"]}, 422, "macs.1", "a group's address"),
    ({"name": "other", "device": "m9"}, 422, "device", "no registered device 'm9'"),
    ({"name": "other", "device": "m2", "endpoint": "c9-lan"}, 422, "endpoint", "no endpoint 'c9-lan'"),
    ({"name": "other", "device": "m2", "memory": 1}, 422, "memory", "16M"),
    ({"name": "other", "device": "m3"}, 409, "device", "m3's VM is known as 02:00:5e:00:00:02"),
    ({"name": "other", "device": "m4"}, 409, "client_id", "is m3's"),
]


async def test_what_clashes_is_named(controller: Controller, subtests: pytest.Subtests) -> None:
    await region(controller, "m1", "m2", "m4")
    await controller.post("/devices", {"name": "m3", "client_id": "00" + b"other".hex(), "vm": {"mac": TWO}})
    await controller.post("/vms", WEB)
    for change, status, field, reason in CLASHES:
        with subtests.test(reason):
            await controller.refused(status, "/vms", WEB | change, field, reason)


async def test_who_came_and_asked_makes_room(controller: Controller) -> None:
    await region(controller)
    agent = await controller.agent("c3", 3)
    await agent.lease(endpoint="c3-lan", mac=ONE)
    await agent.lease(endpoint="c3-lan", mac=TWO, client_id="00776562")
    problem(await controller.http.post("/api/v1/vms", json=WEB | {"device": "dev-02005e000001"}), 422, "device")
    await controller.post("/vms", WEB | {"macs": [ONE, TWO]})
    assert [device["name"] for device in (await controller.get("/devices"))["items"]] == ["dev-02005e000001", "m1"]


async def test_a_vm_registered_with_its_device_keeps_its_mac(controller: Controller) -> None:
    await region(controller)
    await controller.post("/devices", {"name": "m7", "mac": ONE, "vm": {"mac": TWO}})
    await controller.post("/vms", WEB | {"device": "m7", "macs": [TWO, "02:00:5e:00:00:03"]})
    assert (await controller.get("/devices/m7"))["vm"] == {"mac": TWO, "client_id": "00776562"}
    await controller.delete("/vms/web", 204)
    assert (await controller.get("/devices/m7"))["vm"] == {"mac": TWO, "client_id": None}


async def test_a_list_in_pages_and_parts(controller: Controller) -> None:
    await region(controller, "m1", "m2", "m3")
    for number, lan in ((1, "c1-lan"), (2, "c2-lan"), (3, "c1-lan")):
        await controller.post("/vms", WEB | {"name": f"vm{number}", "device": f"m{number}", "endpoint": lan})
    await say(controller, "c1", MachineState(name="vm1", condition="running"))

    async def names(**query: str) -> list[str]:
        return [vm["name"] for vm in (await controller.get("/vms", **query))["items"]]

    assert await names() == ["vm1", "vm2", "vm3"]
    assert await names(cloudlet="c1") == await names(endpoint="c1-lan") == ["vm1", "vm3"]
    assert await names(device="m2") == ["vm2"] and await names(condition="running") == ["vm1"]
    first = await controller.get("/vms", limit=2)
    assert [vm["name"] for vm in first["items"]] == ["vm1", "vm2"]
    assert await names(cursor=first["next"]) == ["vm3"]


async def test_changes_are_guarded(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB | {"options": {"cpu": "max", "rng": "on"}})
    tag = (await controller.http.get("/api/v1/vms/web")).headers["ETag"]

    async def patch(body: dict[str, Any], tag: str | None = None) -> Any:
        headers = {"If-Match": tag} if tag else {}
        return await controller.http.patch("/api/v1/vms/web", json=body, headers=headers)

    changed = await patch({"memory": 1 << 30, "options": {"rng": None, "display": "none"}}, tag)
    assert changed.json()["options"] == {"cpu": "max", "display": "none"} and changed.json()["memory"] == 1 << 30
    assert changed.json()["vcpus"] == 1 and changed.headers["ETag"] != tag
    problem(await patch({"vcpus": 2}, tag), 412)
    problem(await patch({"options": {f"o{n}": "1" for n in range(31)}}), 422, "options", "would have 33 options")
    await say(controller, "c1", MachineState(name="web", condition="running"))
    problem(await patch({"vcpus": 2}), 409, None, "web is running at c1-lan: stop it before")


async def test_one_that_runs_or_moves_stays(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    await say(controller, "c1", MachineState(name="web", condition="running"))
    problem(await controller.http.delete("/api/v1/vms/web"), 409, None, "running at c1-lan")
    await begin_move(controller, "web")
    assert (await controller.get("/vms/web"))["move"] == "mv1"
    moving = await controller.http.delete("/api/v1/vms/web", params={"force": "true"})
    problem(moving, 409, None, "web is being moved (mv1)")
    problem(await controller.http.post("/api/v1/vms/web/start"), 409, None, "being moved (mv1)")
    async with controller.region.database.write() as session:
        row = await session.get(MoveRow, "mv1")
        assert row is not None
        row.live = None
    answer = await controller.http.delete("/api/v1/vms/web", params={"force": "true"})
    assert answer.status_code == 204


async def test_what_a_vm_needs_stays_too(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    problem(await controller.http.delete("/api/v1/devices/m1"), 409, None, "m1 has the VM web at c1-lan")
    problem(await controller.http.delete("/api/v1/endpoints/c1-lan"), 409, None, "the VM web at c1-lan")
    for more in ({}, {"dry_run": "true"}):
        answer = await controller.http.delete("/api/v1/cloudlets/c1", params=more)
        problem(answer, 409, None, "there is the VM web at c1-lan: move or remove it first")
    await controller.delete("/cloudlets/c2", 200)
    await controller.delete("/vms/web", 204)
    await controller.delete("/devices/m1", 204)
    await controller.delete("/endpoints/c1-lan", 200)
    await controller.delete("/cloudlets/c1", 200)


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


async def test_news_are_written_when_they_are_news(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    running = MachineState(name="web", condition="running", memory_used=5)
    await say(controller, "c1", running)
    first = await controller.get("/vms/web")
    await say(controller, "c1", running)
    assert await controller.get("/vms/web") == first
    monkeypatch.setattr(machine_reports, "now", lambda: now() + timedelta(seconds=11))
    await say(controller, "c1", running.model_copy(update={"memory_used": 6}))
    later = await controller.get("/vms/web")
    assert later["seen_at"] > first["seen_at"] and later["memory_used"] == 6
    types = [event["type"] for event in (await controller.get("/events"))["items"]]
    assert types.count("vm-running") == 1


async def test_a_move_says_itself_which_vnic_serves(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    await begin_move(controller, "web")
    await say(controller, "c1", MachineState(name="web", condition="running", serving="b"))
    async with controller.region.database.read() as session:
        row = await table.get(session, "web")
    assert row is not None and (row.condition, row.serving) == ("running", "a")


@given(st.from_regex(r"[a-z0-9]{1,20}", fullmatch=True))
def test_macs_are_a_machines(name: str) -> None:
    both = [mac(name, "a"), mac(name, "b")]
    assert len(set(both)) == 2
    for one in both:
        assert fullmatch(MAC_PATTERN, one) and mac_of(one) == one and one.startswith("02:")
