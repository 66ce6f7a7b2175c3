"""The audit log."""

import asyncio
import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Wanted
from controller.core.audit import Chain
from controller.db import audit as table
from controller.db.audit import AuditRow

router = APIRouter(prefix="/api/v1/audit", tags=["audit"], dependencies=[Operator])


class AuditEntry(BaseModel):
    """An action and its actor. `asked` is the body of the request without secrets, or its digest; `before` and `after`
    are the values that it changed, by kind and name, or the digest of many; null if there are none. A digest has the
    number of `bytes` and the `sha256`. `seal` is a SHA-256 over all that, and the previous seal."""

    number: int
    at: datetime
    who: str
    method: str
    path: str
    status: int
    asked: Any
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    seal: str


class AuditFlaw(BaseModel):
    """The first entry that does not match its seal."""

    number: int
    reason: str


class AuditVerification(BaseModel):
    """The result of a verification. `number` and `seal` are those of the last sound entry: note them elsewhere, and
    pass them to a later verification."""

    entries: int
    number: int
    seal: str
    flaw: AuditFlaw | None


@router.get("", responses=errors(), summary="List the audit log")
async def index(
    region: Running,
    who: Wanted = None,
    method: Wanted = None,
    under: Annotated[Wanted, Query(description="How the path begins.")] = None,
    status: Annotated[int | None, Query(ge=100, le=599)] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[AuditEntry]:
    """Return audit entries, the latest first."""
    below = None if cursor is None else pages.after_number(cursor)
    async with region.database.read() as session:
        rows = await table.page(session, below, limit + 1, who, method, under, status)
    return pages.page(rows, limit, lambda row: row.number, _shown)


@router.get("/verification", responses=errors(), summary="Verify the audit log")
async def verify(
    region: Running,
    number: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="An entry that was noted before.")] = None,
    seal: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$", description="Its seal.")] = None,
) -> AuditVerification:
    """Compute the whole chain again. A noted entry also proves that nobody rewrote the log up to that entry."""
    chain, flaw, entries = Chain(), None, 0
    async with region.database.read() as session:
        async for row in table.walk(session):
            entries += 1
            reason = chain.follow(row.entry, row.seal)
            if reason is None and seal is not None and row.number == number and row.seal != seal:
                reason = f"entry {number} has another seal than the one noted"
            if reason is not None:
                flaw = AuditFlaw(number=min(row.number, chain.number + 1), reason=reason)
                break
            if entries % table.BATCH == 0:
                await asyncio.sleep(0)
    if flaw is None and number is not None and number > chain.number:
        reason = f"entry {number} was noted, but the log ends with {chain.number}"
        flaw = AuditFlaw(number=chain.number + 1, reason=reason)
    return AuditVerification(entries=entries, number=chain.number, seal=chain.seal, flaw=flaw)


def _shown(row: AuditRow) -> AuditEntry:
    return AuditEntry(**vars(row.entry) | json.loads(row.details), seal=row.seal)
