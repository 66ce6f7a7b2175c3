"""Events: a stream for observers, and pages of the past."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from controller.api import pages, streams
from controller.api.access import Operator, Running, Still
from controller.api.openapi import errors
from controller.api.types import Moment, Wanted
from controller.core.unavailable import Unavailable
from controller.db import events as table
from controller.db.events import EventRow, Which
from controller.region import Region

router = APIRouter(prefix="/api/v1/events", tags=["events"], dependencies=[Operator])

BATCH = 500


class Event(BaseModel):
    """One event. `id` grows; `text` is a readable sentence, `data` is for programs; `source` is the agent, LAN, PE or
    other party outside the controller that caused it, if any."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    at: datetime
    type: str
    subject: str
    text: str
    data: dict[str, Any]
    source: str | None = None


class Events(BaseModel):
    """Events in order. `next` is the id to continue `after`; null if there are no more for now."""

    items: list[Event]
    next: str | None = None


@router.get(
    "",
    response_model=Events,
    responses=errors() | {200: {"content": streams.CONTENT, "description": "A page, or server-sent events."}},
    summary="List or follow events",
)
async def index(
    request: Request,
    region: Running,
    still: Still,
    after: Annotated[int | None, Query(ge=0, le=2**63 - 1, description="Only events with a greater id.")] = None,
    before: Annotated[
        int | None, Query(ge=0, le=2**63 - 1, description="Only events with a smaller id: with `latest`, older ones.")
    ] = None,
    latest: Annotated[bool, Query(description="The latest ones instead of the first; `next` is null then.")] = False,
    type: Annotated[Wanted, Query(description="Only of this type, or of all that begin so: `move-*`.")] = None,
    about: Annotated[
        Wanted,
        Query(description="Only about a cloudlet, endpoint, VCP, device or VM of that name, be it still there or not."),
    ] = None,
    source: Annotated[Wanted, Query(description="Only what this source caused: `cloudlet:c1`.")] = None,
    since: Annotated[Moment | None, Query(description="Only from then on; UTC unless it says otherwise.")] = None,
    until: Annotated[Moment | None, Query(description="Only before then.")] = None,
    limit: pages.Limit = 100,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=40)] = None,
) -> Response:
    """Return events: a stream if `Accept` asks for `text/event-stream`, from `Last-Event-ID` or `after` on, or from now
    on without either; else a page. Unknown names are no error, because removed objects still have events."""
    which = Which(type, about, source, since, until, before)
    if "text/event-stream" not in request.headers.get("accept", ""):
        async with region.database.read() as session:
            if latest:
                rows = await table.newest(session, limit, which)
            else:
                rows = await table.after(session, after or 0, limit + 1, which)
        more = str(rows[limit - 1].id) if len(rows) > limit else None
        shown = Events(items=[Event.model_validate(row) for row in rows[:limit]], next=more)
        return JSONResponse(shown.model_dump(mode="json"))
    start = streams.last_id(last_event_id)
    start = after if start is None else start
    if start is None:
        async with region.database.read() as session:
            start = await table.latest(session)
    return streams.respond(streams.while_allowed(_stream(region, start, which), still))


async def _stream(region: Region, seen: int, which: Which) -> AsyncGenerator[bytes, None]:
    with region.runtime.wakeup.listen() as wake:
        yield streams.OPENING
        while True:
            try:
                async with region.database.read() as session:
                    searched = await table.latest(session)  # read first: events in between are among the rows
                    rows = await table.after(session, seen, BATCH, which)
            except Unavailable:  # followers reconnect, and continue where this ends
                return
            for row in rows:
                yield _event(row)
                seen = row.id
            if len(rows) == BATCH:
                continue
            seen = max(seen, searched)
            match await streams.woken(wake, region.runtime.stopping):
                case False:
                    return
                case None:
                    yield streams.COMMENT


def _event(row: EventRow) -> bytes:
    return streams.event(row.type, row.id, Event.model_validate(row).model_dump_json())
