"""Delegations: the ranges of addresses that agents lease by themselves (docs/network/leases.md), for operators."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.core.blocks import SIZE
from controller.db import delegations as table
from controller.db.delegations import DelegationRow

router = APIRouter(prefix="/api/v1/delegations", tags=["addresses"], dependencies=[Operator])


class Delegation(BaseModel):
    """The `blocks` blocks of eight pairs, at most `pairs` pairs, that one memory of the endpoint's agent leases. A
    memory that rests leases nothing more, and its last leases may live until `rests_until` at least."""

    endpoint: str
    epoch: int
    incarnation: str
    blocks: int
    pairs: int
    made_at: datetime
    rests_until: datetime | None


@router.get("", responses=errors(), summary="List delegations")
async def index(
    region: Running, endpoint: EndpointFilter = None, limit: pages.Limit = 100, cursor: pages.Cursor = None
) -> Page[Delegation]:
    """Return delegations by endpoint, the oldest first."""
    async with region.database.read() as session:
        rows = await table.page(session, _behind(cursor), limit + 1, endpoint)
    return pages.page(rows, limit, lambda row: f"{row[0].endpoint} {row[0].epoch}", lambda row: _shown(*row))


def _behind(cursor: str | None) -> tuple[str, int]:
    key = pages.after(cursor)
    endpoint, _, epoch = key.partition(" ")
    if key and not (epoch.isascii() and epoch.isdigit() and len(epoch) < 10):
        raise pages.not_ours()
    return endpoint, int(epoch or 0)


def _shown(row: DelegationRow, blocks: int) -> Delegation:
    return Delegation(
        endpoint=row.endpoint,
        epoch=row.epoch,
        incarnation=row.incarnation,
        blocks=blocks,
        pairs=blocks * SIZE,
        made_at=row.made_at,
        rests_until=row.rest_until,
    )
