"""The stream that an agent follows."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.responses import StreamingResponse

from controller.api import streams
from controller.api.access import Newcomer, Running, prove, shown
from controller.api.feeds import FOLLOWED, Feed, farewell, feeds
from controller.api.openapi import errors
from controller.api.streams import CONTENT
from controller.core.intent import Cloudlet, CloudletState
from controller.core.unavailable import Unavailable
from controller.identity.tls_peer import TlsPeer
from controller.region import Region

router = APIRouter(prefix="/api/v1/agent", tags=["agents"])

Still = Callable[[Cloudlet], Awaitable[bool]]
"""Whether the stream of a cloudlet, as it is now, may go on."""


@router.get(
    "/desired",
    response_class=StreamingResponse,
    responses=errors() | {200: {"content": CONTENT, "description": FOLLOWED}},
    summary="Follow the desired state",
)
async def follow(
    request: Request,
    region: Running,
    cloudlet: Newcomer,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=40)] = None,
) -> StreamingResponse:
    """The current document at once, unless `Last-Event-ID` is its version; then every new one. Documents that were
    overtaken while one was being sent are left out. Beside them, whom to probe, what to do about moves, and what was
    revoked: at the beginning and with every change, after the desired state; and what to filter, ahead of it. A
    cloudlet that waits for approval needs no certificate, and follows until then."""
    waits = _waits(cloudlet, shown(request))
    if not waits:
        await prove(request, region, cloudlet)

    async def still(present: Cloudlet) -> bool:
        if waits:
            return _waits(present, shown(request))
        try:
            return await region.identity.proofs.reason(present, shown(request)) is None
        except Unavailable:
            return True

    private = shown(request) is not None
    followed = feeds(region, cloudlet.name, streams.last_id(last_event_id), private=private)
    return streams.respond(_documents(region, cloudlet, followed, still))


def _waits(cloudlet: Cloudlet, shown: TlsPeer | None) -> bool:
    return cloudlet.state is CloudletState.PENDING and shown is not None and shown.peer is None


async def _documents(
    region: Region, cloudlet: Cloudlet, followed: Sequence[Feed], still: Still
) -> AsyncIterator[bytes]:
    with region.agents.registry.attend(cloudlet.name) as wake:
        yield streams.OPENING
        while True:
            present = region.intent.cloudlets.get(cloudlet.name)
            if present is None:
                yield farewell(region, cloudlet)
                return
            if present.credential != cloudlet.credential or not await still(present):
                return
            for feed in followed:
                if (event := await feed.next(present)) is not None:
                    yield event
                    break  # and from the beginning: while it was sent, much may have happened
            else:
                match await streams.woken(wake, region.runtime.stopping):
                    case False:
                        return
                    case None:
                        yield streams.COMMENT
