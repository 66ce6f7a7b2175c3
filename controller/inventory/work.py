"""The steps of an inventory in the database, beside the intent: in one transaction, before and after the intent is
saved."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.intent import Intent
from controller.core.inventories import Action, InventoryPlan, Step
from controller.core.inventory import Fields, Inventory, InventoryInvalid
from controller.core.inventory.kinds import CLOUDLETS, DEVICES, ENDPOINTS, VMS
from controller.core.inventory.sections import devices as device_section
from controller.core.inventory.sections import vms as vm_section
from controller.core.refusals import Refused, conflict
from controller.core.yaml_document.errors import DocumentError
from controller.db import vms
from controller.inventory import cloudlets, endpoints
from controller.inventory.cloudlets import EnrolmentToken
from controller.leases import devices
from controller.leases.renumbering import Renumbering
from controller.migration.vms import add_vm, alter_vm, check_machine, refuse_moving, refuse_occupied, remove_vm
from controller.wire.machines import Machine

OF_MACHINES = frozenset({"memory", "vcpus", "options"})
"""The fields of a machine that can change."""


class Work:
    """The steps of `plan`. `tokens` are for the cloudlets that are to be made and have an agent."""

    def __init__(
        self,
        inventory: Inventory,
        plan: InventoryPlan,
        renumbering: Renumbering,
        tokens: Mapping[str, EnrolmentToken],
    ) -> None:
        self._inventory, self._plan = inventory, plan
        self._renumbering, self._tokens = renumbering, tokens
        self._wrong: list[DocumentError] = []

    async def before(self, session: AsyncSession, old: Intent, new: Intent) -> None:
        """Remove VMs, so that their endpoints can be, and check what depends on the objects that the intent loses or
        alters. Raises InventoryInvalid with all refusals."""
        occupied = await self._without_vms(session)
        for step in self._those(Action.REMOVE, ENDPOINTS):
            if step.name not in occupied:
                async with self._about(session, step):
                    await refuse_occupied(session, [step.name])
        for step in self._those(Action.CHANGE, CLOUDLETS):
            if "vtep" in step.fields:
                async with self._about(session, step):
                    await refuse_moving(session, step.name)
        for step in self._those(Action.CHANGE, ENDPOINTS):
            async with self._about(session, step):
                await self._renumbering.check(session, old, new.endpoints[step.name])
        self._refuse()

    async def after(self, session: AsyncSession, old: Intent, new: Intent) -> None:
        """Record what was done with cloudlets and endpoints, and do the rest of the work on devices and VMs. Raises
        InventoryInvalid with all refusals."""
        await self._cloudlets(session, old, new)
        await self._endpoints(session, old, new)
        await self._devices(session)
        await self._vms(session, new)
        self._refuse()

    async def _without_vms(self, session: AsyncSession) -> set[str]:
        """Remove VMs, and return the endpoints of those that stay, whose refusals say enough."""
        occupied: set[str] = set()
        for step in self._those(Action.REMOVE, VMS):
            row, wrong = await vms.get(session, step.name), len(self._wrong)
            async with self._about(session, step):
                await remove_vm(session, step.name, lambda row: None)
            if row is not None and len(self._wrong) > wrong:
                occupied.add(row.endpoint)
        return occupied

    async def _cloudlets(self, session: AsyncSession, old: Intent, new: Intent) -> None:
        for step in self._those(Action.REMOVE, CLOUDLETS):
            await cloudlets.removed(session, step.name)
        for step in self._those(Action.CHANGE, CLOUDLETS):
            approval = step.fields.get("approval")
            await cloudlets.altered(session, old.cloudlets[step.name], new.cloudlets[step.name], approval)
        for step in self._those(Action.CREATE, CLOUDLETS):
            await cloudlets.added(session, step.name, self._tokens.get(step.name))

    async def _endpoints(self, session: AsyncSession, old: Intent, new: Intent) -> None:
        for step in self._those(Action.REMOVE, ENDPOINTS):
            await endpoints.removed(session, step.name)
        for step in self._those(Action.CHANGE, ENDPOINTS):
            await endpoints.altered(session, old, new, step.name, self._renumbering)
        for step in self._those(Action.CREATE, ENDPOINTS):
            await endpoints.made(session, new, step.name)

    async def _devices(self, session: AsyncSession) -> None:
        for step in self._those(Action.REMOVE, DEVICES):
            async with self._about(session, step):
                await devices.forget(session, step.name, lambda row: None)
        found = []
        for step in self._those(Action.CHANGE, DEVICES):
            async with self._about(session, step):
                row, before = await devices.present(session, step.name, lambda row: None)
                after = device_section.wanted(self._fields(step))
                await devices.give_up(session, row, before, after)
                found.append((step, row, before, after))
        for step, row, before, after in found:
            async with self._about(session, step):
                await devices.take_up(session, row, before, after)
        for step in self._those(Action.CREATE, DEVICES):
            async with self._about(session, step):
                await devices.register(session, step.name, device_section.wanted(self._fields(step)))

    async def _vms(self, session: AsyncSession, intent: Intent) -> None:
        for step in self._those(Action.CHANGE, VMS):
            async with self._about(session, step):
                await self._alter_vm(session, intent, step)
        for step in self._those(Action.CREATE, VMS):
            async with self._about(session, step):
                fields = self._fields(step)
                machine = vm_section.wanted(step.name, fields)
                check_machine(intent, machine, fields["endpoint"])
                given = fields["device"], fields["endpoint"], fields["cpu"]
                await add_vm(session, intent, machine, *given, vm_section.anew(fields))

    async def _alter_vm(self, session: AsyncSession, intent: Intent, step: Step) -> None:
        fields, differing = self._fields(step), step.fields
        machine = {field: differing[field] for field in OF_MACHINES & differing.keys()}

        def amend(before: Machine) -> Machine:
            return before.model_copy(update=machine)

        renew = (lambda _: vm_section.anew(fields)) if differing.keys() & {"check", "handover"} else None
        await alter_vm(session, intent, step.name, lambda row: None, amend, differing.get("cpu"), renew)

    def _those(self, action: Action, section: str) -> list[Step]:
        return self._plan.those(action, section)

    def _fields(self, step: Step) -> Fields:
        return self._inventory.objects[step.section][step.name]

    @asynccontextmanager
    async def _about(self, session: AsyncSession, step: Step) -> AsyncIterator[None]:
        """Note a refusal from inside the block with its place, and undo the work of the block."""
        try:
            async with session.begin_nested():
                yield
        except Refused as refused:
            self._wrong.append(self._inventory.refused(step.section, step.name, refused))
        except IntegrityError:
            taken = conflict("another has just taken a name, MAC or client id of this one")
            self._wrong.append(self._inventory.refused(step.section, step.name, taken))

    def _refuse(self) -> None:
        if self._wrong:
            raise InventoryInvalid(self._wrong)
