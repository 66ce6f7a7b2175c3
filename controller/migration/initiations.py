"""Initiations: whether a VM can start anew at another cloudlet, how long that takes, and the record of those made."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core import cpu_choice
from controller.core.host_room import lacks_memory
from controller.core.intent import Intent
from controller.core.profiles import typical
from controller.core.saga import Saga, Step
from controller.core.vm_images import lacking
from controller.db import events, host_loads, initiations, initiators, platforms
from controller.db.initiations import InitiationRow
from controller.db.vms import VmRow


@dataclass(frozen=True)
class Measured:
    """The time until a VM that starts anew serves: the median in seconds of `initiations` of its image and driver; None
    if there was none."""

    seconds: float | None = None
    initiations: int = 0


async def measured(session: AsyncSession, vm: VmRow) -> Measured:
    """Return the time that such VMs took."""
    took = await initiations.took(session, vm.machine["image"], vm.machine["driver"])
    return Measured(typical(took), len(took))


async def obstacles(session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str) -> list[str]:
    """Return why the VM cannot start anew at an endpoint of another cloudlet; empty if it can."""
    machine, lan = vm.made_of, intent.endpoints[endpoint]
    there = lan.cloudlet
    found = list[str | None]()
    if not intent.cloudlets[there].managed:
        found.append(f"{there} has no agent")
    if vm.address is not None and ip_address(vm.address) in lan.plan.network:
        found.append(f"{vm.name} has the address that it would get there, {vm.address}, already")
    for cloudlet in (intent.endpoints[vm.endpoint].cloudlet, there):
        drivers = await initiators.of(session, cloudlet)
        if drivers is None:
            found.append(f"the agent of {cloudlet} has not reported that it can start VMs anew")
        elif machine.driver not in drivers:
            found.append(f"{cloudlet} has no driver {machine.driver}")
    platform = await platforms.of(session, there, machine.driver)
    if machine.cpu is not None:
        found.append(cpu_choice.refusal(machine.cpu, there, platform))
    if platform is not None and (lack := lacking(machine, there, platform)) is not None:
        found.append(lack[1])
    found.append(lacks_memory(machine, there, (await host_loads.of(session, [there])).get(there)))
    return [reason for reason in found if reason is not None]


async def serves(session: AsyncSession, saga: Saga, began: float, at: datetime) -> None:
    """Record that a VM whose initiation `began` then (seconds since 1970) serves, in the transaction in which its place
    changes, and tell of it. An agent that restarted meanwhile has measured less than the whole time."""
    plan, machine = saga.plan, saga.plan.machine
    seconds = max(saga.figures[Step.INITIATE].seconds or 0.0, at.timestamp() - began)
    row = InitiationRow(move=plan.move, vm=machine.name, image=machine.image, driver=machine.driver, at=at)
    row.cloudlet, row.seconds = plan.destination.cloudlet, seconds
    session.add(row)
    data = {"device": plan.device, "endpoint": plan.destination.endpoint, "address": saga.address, "old": plan.old}
    text = f"VM {machine.name} serves anew at {plan.destination.endpoint}, known by {saga.address}"
    text += (
        f"; its machine at {plan.source.endpoint} keeps {plan.old} while connections use it, at most {plan.linger:g} s"
    )
    await events.add(session, "vm-initiated", machine.name, text, move=plan.move, seconds=seconds, **data)
