"""The stream of documents that an agent follows."""

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
"""A check whether the stream of a cloudlet, in its present state, may continue."""


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
    """Send the current document at once, unless `Last-Event-ID` is its version; then every new one. A document that is
    outdated before it can be sent is skipped. After the desired state, at the beginning and with every change, come the
    neighbours to probe, the orders of moves and the revocations; access rules come before it. A cloudlet that waits for
    approval needs no certificate, and follows the stream until it is approved."""
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
                    break  # start again with the first feed: while this was sent, much may have changed
            else:
                match await streams.woken(wake, region.runtime.stopping):
                    case False:
                        return
                    case None:
                        yield streams.COMMENT
