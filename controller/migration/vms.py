"""VMs: added, changed, started, stopped and removed."""

from collections.abc import Callable, Collection

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.announce_permits import full
from controller.core.cpu_choice import BY_POLICY
from controller.core.destinations import check_agent
from controller.core.intent import Intent
from controller.core.refusals import conflict, invalid, unknown
from controller.db import announce_permits, devices, endpoints, events, names
from controller.db import moves as moves_table
from controller.db import vms as table
from controller.db.engine import Database, Lock, alone
from controller.db.vms import IDLE, STARTING, STOPPING, VmRow
from controller.migration import vm_cpus, vm_images
from controller.migration.moves import Moves
from controller.migration.vm_clients import check_free, register
from controller.runtime.wakeup import Wakeup
from controller.wire.flavours import Flavour
from controller.wire.initiations import Initiation
from controller.wire.machines import Machine, client_id

Check = Callable[[VmRow], None]
"""The caller's last check of the VM; raises if the caller no longer wants the change."""


class Vms:
    """`intent` returns the LANs as they are now."""

    def __init__(self, database: Database, intent: Callable[[], Intent], moves: Moves, wakeup: Wakeup) -> None:
        self._database, self._intent, self._moves, self._wakeup = database, intent, moves, wakeup

    async def add(
        self,
        machine: Machine,
        device: str,
        endpoint: str,
        cpu: str = BY_POLICY,
        anew: Initiation = Initiation(),  # noqa: B008 - it never changes
    ) -> None:
        """Record a VM for a device, at a LAN; it does not run yet. Whichever of its vNICs asks DHCP from now on gets
        the odd address above the device's. `cpu` is the choice of its CPU, and `anew` how it starts anew elsewhere.
        Raises Refused."""
        intent = self._intent
        check_machine(intent(), machine, endpoint)

        async def work(session: AsyncSession) -> None:
            await add_vm(session, intent(), machine, device, endpoint, cpu, anew)

        try:
            await self._database.transact(work)
        except IntegrityError as error:
            raise conflict("another VM or device has this name, MAC or client id") from error
        self.told()

    def told(self) -> None:
        """Tell others that VMs were added, changed or removed."""
        self._moves.work.set()  # the leader updates their announce permits
        self._wakeup.ring()

    async def change(
        self,
        name: str,
        check: Check,
        amend: Callable[[Machine], Machine],
        cpu: str | None = None,
        renew: Callable[[Initiation], Initiation] | None = None,
    ) -> None:
        """Change the machine of a VM that does not run; with `cpu`, also the choice of its CPU, which its next start
        settles; with `renew`, also how it starts anew elsewhere. Raises Refused."""
        async with self._database.write() as session:
            await alter_vm(session, self._intent(), name, check, amend, cpu, renew)
        self._wakeup.ring()

    async def start(self, name: str, check: Check) -> None:
        """Have the agent where the VM is start it as soon as it can; a VM that runs goes on. The CPU is settled, unless
        an earlier start has settled it. Raises Refused."""
        async with self._database.write() as session:
            row = await _there(session, name, check)
            cloudlet = self._cloudlet(row)
            if row.condition in ("running", STARTING):
                return
            if row.condition not in IDLE:
                raise conflict(f"{name} is {row.condition} at {row.endpoint}, and cannot be started")
            await vm_images.check(session, self._intent(), row.made_of, row.endpoint)
            row.cpu_settled = await vm_cpus.settled(session, self._intent(), row)
            await _ordered(session, row, STARTING, "start")
        self._moves.announce(cloudlet)
        self._wakeup.ring()

    async def stop(self, name: str, check: Check) -> None:
        """Have the agent where the VM is shut it down as soon as it can; a start that is still ordered is taken back. A
        VM that does not run stays so. A stop cannot be taken back; once the VM has stopped, it can be started again.
        Raises Refused."""
        async with self._database.write() as session:
            row = await _there(session, name, check, "stopped")
            cloudlet = self._cloudlet(row)
            if row.condition in (*IDLE, STOPPING):
                row.ended = None  # its present state is now the wanted one
                return
            if row.condition not in ("running", "paused", "unresponsive", STARTING):
                raise conflict(f"{name} is {row.condition} at {row.endpoint}, and cannot be stopped")
            await _ordered(session, row, STOPPING, "stop")
        self._moves.announce(cloudlet)
        self._wakeup.ring()

    def _cloudlet(self, row: VmRow) -> str:
        """Return the cloudlet where the VM is. Raises Refused if it has no agent."""
        cloudlet = self._intent().cloudlets[self._intent().endpoints[row.endpoint].cloudlet]
        if not cloudlet.speaks:
            raise conflict(f"{row.endpoint} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}")
        return cloudlet.name

    async def remove(self, name: str, check: Check, *, force: bool = False) -> None:
        """Forget a VM that does not run; with `force` also one that runs, which then runs on unattended. Raises
        Refused."""
        async with self._database.write() as session:
            await remove_vm(session, name, check, force=force)
        self.told()


def check_machine(intent: Intent, machine: Machine, endpoint: str) -> None:
    """Raise Refused if a machine cannot be at an endpoint, whatever the database has."""
    if machine.macs[0] == machine.macs[1]:
        raise invalid("macs", f"both vNICs have {machine.macs[0]}")
    if endpoint not in intent.endpoints:
        raise unknown("endpoint", "endpoint", endpoint, intent.endpoints)
    check_agent(intent, endpoint)


async def add_vm(
    session: AsyncSession, intent: Intent, machine: Machine, device: str, endpoint: str, cpu: str, anew: Initiation
) -> None:
    """Do the work of `Vms.add` in a transaction. Raises Refused."""
    await alone(session, Lock.VMS)
    if not await endpoints.there(session, [endpoint]):
        raise unknown("endpoint", "endpoint", endpoint, intent.endpoints)
    await check_free(session, machine, device)
    await vm_images.check(session, intent, machine, endpoint)
    await vm_cpus.check(session, intent, cpu, machine.driver, endpoint)
    evpn = intent.flavour(endpoint) is Flavour.EVPN
    if evpn and (refused := full(endpoint, await table.count(session, endpoint))):
        raise conflict(refused, "endpoint")
    await register(session, machine, device)
    await announce_permits.note(session, machine.name)
    made = machine.model_dump(mode="json")
    row = VmRow(name=machine.name, device=device, endpoint=endpoint, machine=made, cpu=cpu)
    row.initiation = anew.model_dump(exclude_none=True) or None
    session.add(row)
    text = f"VM {machine.name} of {device} was added at {endpoint}"
    await events.add(session, "vm-added", machine.name, text, device=device, endpoint=endpoint)


async def alter_vm(
    session: AsyncSession,
    intent: Intent,
    name: str,
    check: Check,
    amend: Callable[[Machine], Machine],
    cpu: str | None = None,
    renew: Callable[[Initiation], Initiation] | None = None,
) -> VmRow:
    """Do the work of `Vms.change` in a transaction, and return the VM. Raises Refused."""
    row = await _idle(session, name, check, "changed")
    row.machine = amend(row.made_of).model_dump(mode="json", exclude={"cpu"})
    if cpu is not None:
        await vm_cpus.check(session, intent, cpu, row.machine["driver"], row.endpoint)
        row.cpu, row.cpu_settled = cpu, None
    if renew is not None:
        row.initiation = renew(row.anew).model_dump(exclude_none=True) or None
    row.revision += 1
    await events.add(session, "vm-changed", name, f"VM {name} was changed")
    return row


async def remove_vm(session: AsyncSession, name: str, check: Check, *, force: bool = False) -> None:
    """Do the work of `Vms.remove` in a transaction. Raises Refused."""
    row = await (_there if force else _idle)(session, name, check, "removed")
    await devices.forget_client(session, row.device, client_id(name))
    await session.delete(row)
    await announce_permits.note(session, name)
    text = f"VM {name} of {row.device} was removed" + (f", {row.condition} as it was" if force else "")
    await events.add(session, "vm-removed", name, text, device=row.device, endpoint=row.endpoint)


async def _ordered(session: AsyncSession, row: VmRow, condition: str, what: str) -> None:
    row.condition, row.ended = condition, None
    row.revision += 1
    text = f"VM {row.name} is to {what} at {row.endpoint}"
    if what == "start" and row.cpu_settled is not None:
        text += f" with the CPU {row.cpu_settled}"
    await events.add(session, f"vm-{condition}", row.name, text)


async def refuse_occupied(session: AsyncSession, endpoints: Collection[str]) -> None:
    """Raise Refused if there are VMs at any of the LANs."""
    if rows := await table.at(session, endpoints):
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise conflict(f"there is the VM {rows[0].name} at {rows[0].endpoint}{more}: move or remove it first")


async def refuse_running(session: AsyncSession, cloudlet: str, endpoints: Collection[str]) -> None:
    """Raise Refused if VMs run, or may run, at any of a cloudlet's LANs: once these are in no pool, no VM can leave."""
    if rows := [row for row in await table.at(session, endpoints) if row.condition not in IDLE]:
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        there = f"the VM {rows[0].name} is {rows[0].condition} at {rows[0].endpoint}{more}"
        raise conflict(f"{there}, and cannot leave once {cloudlet} drains: evacuate {cloudlet} first, or force it")


async def refuse_moving(session: AsyncSession, cloudlet: str) -> None:
    """Raise Refused if VMs are being moved from or to a cloudlet: both ends of a move know the other's VTEP."""
    if rows := [row for row in await moves_table.at(session, cloudlet) if row.live is not None]:
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise conflict(f"the move {rows[0].name} of {rows[0].vm}{more} is under way: wait for its end", "vtep")


async def _there(session: AsyncSession, name: str, check: Check, done: str = "started") -> VmRow:
    row = await table.get(session, name, lock=True)
    if row is None:
        raise await names.missing(session, "VM", name)
    check(row)
    if move := (await table.moves(session, [name])).get(name):
        raise conflict(f"{name} is being moved ({move}), and cannot be {done} before that is over")
    return row


async def _idle(session: AsyncSession, name: str, check: Check, done: str) -> VmRow:
    row = await _there(session, name, check, done)
    if row.condition not in IDLE:
        raise conflict(f"{name} is {row.condition} at {row.endpoint}: stop it before it is {done}")
    return row
