"""Names that are only in the database: whether one exists, and which are near it in their order. A tenant is told only
the names that it can see at its own endpoints."""

from collections.abc import Iterator
from typing import Any, Literal

from sqlalchemy import Select, Text, cast, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from controller.core import refusals
from controller.core.refusals import Refused
from controller.db.certificates import CertificateRow
from controller.db.decisions import DecisionRow
from controller.db.devices import DeviceRow
from controller.db.endpoints import EndpointRow
from controller.db.moves import MoveRow
from controller.db.pairs import PairRow
from controller.db.platforms import PlatformRow
from controller.db.profiles import ProfileRow
from controller.db.tokens import TokenRow
from controller.db.vms import VmRow

Noun = Literal["device", "VM", "move", "image", "token"]
Past = Literal["VM", "move", "cloudlet"]
Column = InstrumentedAttribute[Any]

AROUND = 250
"""Names before and after an unknown one among which a similar one is looked for. A name misspelt in its last part has
its original there, however many names there are; each costs microseconds."""

_EVERY: dict[Noun, Column] = {
    "device": DeviceRow.name,
    "VM": VmRow.name,
    "move": MoveRow.name,
    "image": ProfileRow.image,
    "token": TokenRow.name,
}

_REMEMBERED: dict[Past, tuple[Column, ...]] = {
    "VM": (MoveRow.vm, ProfileRow.vm, DecisionRow.vm),
    "move": (DecisionRow.move,),
    "cloudlet": (
        MoveRow.source,
        MoveRow.destination,
        ProfileRow.source,
        ProfileRow.destination,
        CertificateRow.cloudlet,
    ),
}
"""The columns where the names of deleted things stay."""


async def there(session: AsyncSession, noun: Noun, name: str, tenant: str | None = None) -> bool:
    """Return whether something has this name. An image exists if a VM has it, a past move was of it, or an agent has
    it."""
    for query, column in _names(noun, tenant):
        if await session.scalar(query.where(column == name).limit(1)) is not None:
            return True
    return noun == "image" and tenant is None and await _image(session, name)


async def remembered(session: AsyncSession, of: Past, name: str) -> bool:
    """Return whether there are moves, decisions or certificates of a thing with this name, whether or not it still
    exists."""
    for column in _REMEMBERED[of]:
        if await session.scalar(select(column).where(column == name).limit(1)) is not None:
            return True
    return False


async def around(session: AsyncSession, noun: Noun, name: str, tenant: str | None = None) -> set[str]:
    """Return the names just before and just after this one in their order."""
    found: set[str] = set()
    for query, column in _names(noun, tenant):
        found.update(await session.scalars(query.where(column < name).order_by(column.desc()).limit(AROUND)))
        found.update(await session.scalars(query.where(column > name).order_by(column).limit(AROUND)))
    return found


async def missing(session: AsyncSession, noun: Noun, name: str) -> Refused:
    """Return the refusal that nothing has this name, for a caller who may see all."""
    return refusals.missing(noun, name, await around(session, noun, name))


async def unknown(session: AsyncSession, field: str, noun: Noun, name: str) -> Refused:
    """Return the refusal that a request's field names nothing that exists, for a caller who may see all."""
    return refusals.unknown(field, noun, name, await around(session, noun, name))


def _names(noun: Noun, tenant: str | None) -> Iterator[tuple[Select[Any], Column]]:
    """Yield the queries that together have all names of a noun, or those that a tenant sees, with the column that
    orders each."""
    if tenant is None:
        yield select(_EVERY[noun]).distinct(), _EVERY[noun]
        return
    own = select(EndpointRow.name).where(EndpointRow.tenant == tenant)
    if noun == "device":
        yield select(PairRow.device).distinct().where(PairRow.endpoint.in_(own)), PairRow.device
        yield select(VmRow.device).where(VmRow.endpoint.in_(own)), VmRow.device
    elif noun == "VM":
        yield select(VmRow.name).where(VmRow.endpoint.in_(own)), VmRow.name


async def _image(session: AsyncSession, name: str) -> bool:
    """Return whether a VM has this image, or a file of it is at a cloudlet. Reads all of them."""
    has = select(VmRow.name).where(VmRow.machine["image"].as_string() == name).limit(1)
    if await session.scalar(has) is not None:
        return True
    file = cast(PlatformRow.platform, Text).contains(f'"{name}/', autoescape=True)
    return await session.scalar(select(PlatformRow.cloudlet).where(file).limit(1)) is not None
