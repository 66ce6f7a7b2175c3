"""A region with devices for tests of VMs, and what its agents say."""

from controller.db.moves import MoveRow
from controller.migration import machine_reports
from controller.wire.machines import MachineState
from controller.wire.moves import MoveReport, Progress
from tests.unit.controller.conftest import Controller

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
