"""VMs: which machine works for which device, and where it is."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, String, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.cpu_choice import BY_POLICY
from controller.db.base import NAME, Base, Time
from controller.db.endpoints import EndpointRow
from controller.db.moves import MoveRow
from controller.wire.initiations import Initiation
from controller.wire.machines import Machine

STARTING = "starting"
"""A condition that no driver reports: the cloudlet's agent is to start the VM, and has not reported yet that it
runs."""

STOPPING = "stopping"
"""A condition that no driver reports: the agent is to shut the VM down, and has not reported yet that it has."""

BATCH = 500
"""Names in one statement, as a database limits the number of parameters."""

IDLE = ("gone", "stopped")
"""Conditions in which a VM does not run, has no state that could be lost, and is not about to be started."""


class VmRow(Base):
    """`machine` is a wire Machine. It is at `endpoint` with the vNIC `serving`; `address` is the address that it is
    known by there, None until it has one. `condition` is its state there, as its agent reported it at `seen_at`.
    `ended` tells why it does not run although nobody has stopped it, None for all others. `cpu` is the choice of its
    CPU (`core.cpu_choice`), and `cpu_settled` the model that came of it when the VM was started, None if it has its
    driver's own. `initiation` is a wire Initiation; None: all of its values are the defaults."""

    __tablename__ = "vms"
    __table_args__ = (CheckConstraint("serving IN ('a', 'b')", name="serving"),)

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name"), unique=True)
    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"), index=True)
    machine: Mapped[dict[str, Any]] = mapped_column(JSON)
    serving: Mapped[str] = mapped_column(String(1), default="a")
    address: Mapped[str | None] = mapped_column(String(45))
    condition: Mapped[str] = mapped_column(String(16), default="gone")
    ended: Mapped[str | None] = mapped_column(String(400))
    memory_used: Mapped[int | None] = mapped_column(BigInteger)
    dirty_rate: Mapped[float | None]
    seen_at: Mapped[datetime | None] = mapped_column(Time)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)
    cpu: Mapped[str] = mapped_column(String(400), default=BY_POLICY)
    cpu_settled: Mapped[str | None] = mapped_column(String(400))
    initiation: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    @property
    def made_of(self) -> Machine:
        """The machine, in the form that agents get."""
        return Machine.model_validate(self.machine | {"cpu": self.cpu_settled})

    @property
    def anew(self) -> Initiation:
        """How the VM starts anew at another cloudlet."""
        return Initiation.model_validate(self.initiation or {})


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> VmRow | None:
    """Return the VM of that name. `lock`: no other transaction changes it before this one ends."""
    return await session.get(VmRow, name, populate_existing=True, with_for_update=lock or None)


async def of_device(session: AsyncSession, device: str) -> VmRow | None:
    """Return the VM that works for a device."""
    row: VmRow | None = await session.scalar(select(VmRow).where(VmRow.device == device))
    return row


async def homes(session: AsyncSession, devices: Collection[str]) -> dict[str, str]:
    """Return the endpoint at which each device's VM is; devices without one are left out."""
    query, names, found = select(VmRow.device, VmRow.endpoint), sorted(devices), dict[str, str]()
    for start in range(0, len(names), BATCH):
        some = query.where(VmRow.device.in_(names[start : start + BATCH]))
        found |= {row.device: row.endpoint for row in await session.execute(some)}
    return found


async def at(session: AsyncSession, endpoints: Collection[str], *, lock: bool = False) -> list[VmRow]:
    """Return the VMs at these endpoints, by name. `lock`: no other transaction changes them before this one ends."""
    query = select(VmRow).where(VmRow.endpoint.in_(endpoints)).order_by(VmRow.name)
    return list(await session.scalars(query.with_for_update() if lock else query))


async def unwell(session: AsyncSession) -> list[VmRow]:
    """Return VMs that ended although nobody has stopped them, and VMs that do not answer."""
    query = select(VmRow).where(or_(VmRow.ended.is_not(None), VmRow.condition == "unresponsive"))
    return list(await session.scalars(query.order_by(VmRow.name)))


async def settled(session: AsyncSession) -> dict[tuple[str, str, str], list[str]]:
    """Return the names of the VMs whose CPU is settled, by endpoint, driver and CPU."""
    driver = VmRow.machine["driver"].as_string()
    query = select(VmRow.endpoint, driver, VmRow.cpu_settled, VmRow.name).where(VmRow.cpu_settled.is_not(None))
    found: dict[tuple[str, str, str], list[str]] = {}
    for endpoint, by, cpu, name in await session.execute(query.order_by(VmRow.name)):
        found.setdefault((endpoint, by, cpu), []).append(name)
    return found


async def count(session: AsyncSession, endpoint: str) -> int:
    """Return how many VMs are at an endpoint."""
    return await session.scalar(select(func.count()).select_from(VmRow).where(VmRow.endpoint == endpoint)) or 0


async def turning(session: AsyncSession, endpoints: Collection[str]) -> list[VmRow]:
    """Return the VMs at these endpoints that are to be started or stopped, by name."""
    query = select(VmRow).where(VmRow.endpoint.in_(endpoints), VmRow.condition.in_((STARTING, STOPPING)))
    return list(await session.scalars(query.order_by(VmRow.name)))


async def page(
    session: AsyncSession,
    after: str,
    limit: int,
    cloudlet: str | None = None,
    endpoint: str | None = None,
    device: str | None = None,
    condition: str | None = None,
) -> list[VmRow]:
    """Return up to `limit` VMs whose names sort after `after`."""
    query = select(VmRow).where(VmRow.name > after).order_by(VmRow.name).limit(limit)
    if cloudlet is not None:
        query = query.where(VmRow.endpoint.in_(select(EndpointRow.name).where(EndpointRow.cloudlet == cloudlet)))
    for column, value in ((VmRow.endpoint, endpoint), (VmRow.device, device), (VmRow.condition, condition)):
        if value is not None:
            query = query.where(column == value)
    return list(await session.scalars(query))


async def with_mac(session: AsyncSession, macs: Collection[str]) -> VmRow | None:
    """Return a VM that has one of these MACs. Reads all VMs, as it is only called when one is added."""
    has = [VmRow.machine["macs"][nic].as_string().in_(macs) for nic in (0, 1)]
    row: VmRow | None = await session.scalar(select(VmRow).where(or_(*has)).order_by(VmRow.name).limit(1))
    return row


async def moves(session: AsyncSession, names: Collection[str], *, ahead: bool = True) -> dict[str, str]:
    """Return the moves that are under way, by VM; unless `ahead`, without those that only copy ahead of another one."""
    moving = select(MoveRow.live, MoveRow.name).where(MoveRow.live.in_(names))
    rows = await session.execute(moving if ahead else moving.where(~MoveRow.ahead))
    return {vm: move for vm, move in rows if vm is not None}
