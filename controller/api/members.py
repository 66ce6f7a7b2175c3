"""Members of pools: joining and leaving. Both answer when the change is in force, with the measured time."""

from fastapi import APIRouter, Response
from pydantic import ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags
from controller.api.access import Operator, Running
from controller.api.changes import REHEARSAL, ConfirmWithin, DryRun
from controller.api.etags import IfMatch
from controller.api.openapi import errors
from controller.api.types import Body, Name, NamePath
from controller.changes.flow import Edit
from controller.changes.outcomes import ChangeResult
from controller.core import edits
from controller.core.intent import Intent
from controller.db import events, vcps
from controller.region import Region

router = APIRouter(prefix="/api/v1/vcps/{vcp}/members", tags=["members"], dependencies=[Operator])


class Joining(Body):
    """The endpoint that joins."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "c1-lan"}]})

    endpoint: Name


@router.post("", status_code=201, responses=errors(404, 409, 412) | REHEARSAL, summary="Join a pool")
async def join(
    vcp: NamePath,
    body: Joining,
    region: Running,
    response: Response,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> ChangeResult:
    """Join a pool. Answers when every route server has confirmed the change and every kernel concerned agrees."""

    def edit(intent: Intent) -> Intent:
        return edits.join(intent, vcp, body.endpoint)

    if dry_run:
        response.status_code = 200
    return await _change(region, (vcp, body.endpoint, "joined"), edit, if_match, confirm_within, dry_run=dry_run)


@router.delete("/{endpoint}", responses=errors(404, 409, 412), summary="Leave a pool")
async def leave(
    vcp: NamePath,
    endpoint: NamePath,
    region: Running,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> ChangeResult:
    """Leave a pool. Once the answer says that the change is in force, no frame is on its way from or to the
    endpoint."""

    def edit(intent: Intent) -> Intent:
        return edits.leave(intent, vcp, endpoint)

    return await _change(region, (vcp, endpoint, "left"), edit, if_match, confirm_within, dry_run=dry_run)


async def _change(
    region: Region, what: tuple[str, str, str], edit: Edit, if_match: str | None, within: int | None, *, dry_run: bool
) -> ChangeResult:
    vcp, endpoint, done = what

    async def guard(session: AsyncSession) -> None:
        etags.check(await vcps.get(session, vcp), if_match)

    async def also(session: AsyncSession, intent: Intent) -> None:
        text = f"{endpoint} {done} {vcp} at generation {intent.generation}"
        await events.add(session, f"member-{done}", endpoint, text, vcp=vcp, generation=intent.generation)

    return await region.changes.flow.apply(edit, f"{endpoint} {done} {vcp}", also, guard, within, dry_run=dry_run)
