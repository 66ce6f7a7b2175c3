"""Names of what only the database knows: whether there is one, and which are near it in their order. A tenant is told
of those that it can see at its own endpoints, and of no others."""

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
"""Names before and behind an unknown one in which it may have a near one: what is misspelt in its last part is there,
however many there are, and each costs microseconds."""

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
"""Where the names stay of what is gone."""


async def there(session: AsyncSession, noun: Noun, name: str, tenant: str | None = None) -> bool:
    """Whether something has this name. An image is one that a VM has, that a past move was of, or that an agent has."""
    for query, column in _names(noun, tenant):
        if await session.scalar(query.where(column == name).limit(1)) is not None:
            return True
    return noun == "image" and tenant is None and await _image(session, name)


async def remembered(session: AsyncSession, of: Past, name: str) -> bool:
    """Whether there are moves, decisions or certificates of what had this name, be it still there or not."""
    for column in _REMEMBERED[of]:
        if await session.scalar(select(column).where(column == name).limit(1)) is not None:
            return True
    return False


async def around(session: AsyncSession, noun: Noun, name: str, tenant: str | None = None) -> set[str]:
    """The names that come just before and just behind this one in their order."""
    found: set[str] = set()
    for query, column in _names(noun, tenant):
        found.update(await session.scalars(query.where(column < name).order_by(column.desc()).limit(AROUND)))
        found.update(await session.scalars(query.where(column > name).order_by(column).limit(AROUND)))
    return found


async def missing(session: AsyncSession, noun: Noun, name: str) -> Refused:
    """That nothing has this name, for a caller who may see all."""
    return refusals.missing(noun, name, await around(session, noun, name))


async def unknown(session: AsyncSession, field: str, noun: Noun, name: str) -> Refused:
    """That the value of a request's field is the name of nothing, for a caller who may see all."""
    return refusals.unknown(field, noun, name, await around(session, noun, name))


def _names(noun: Noun, tenant: str | None) -> Iterator[tuple[Select[Any], Column]]:
    """The queries that together have all names of a noun, or those that a tenant sees, and what each is ordered by."""
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
    """Whether a VM has this image, or a file of it is at a cloudlet. Looks at all there are."""
    has = select(VmRow.name).where(VmRow.machine["image"].as_string() == name).limit(1)
    if await session.scalar(has) is not None:
        return True
    file = cast(PlatformRow.platform, Text).contains(f'"{name}/', autoescape=True)
    return await session.scalar(select(PlatformRow.cloudlet).where(file).limit(1)) is not None
