"""A controller for agents' tests: it serves the desired states that a test sets, keeps reports, and decides nothing."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from controller.wire.access import Access, AccessReport
from controller.wire.certificates import Certified
from controller.wire.desired import Desired, Endpoint, Remote, Speaker
from controller.wire.flavours import Flavour
from controller.wire.reports import Report
from tests.integration.agent_region import ASN, ROUTE_SERVERS, STUB, inside, target, vtep


def listening_socket(namespace: str, address: tuple[str, int]) -> socket.socket:
    def listen(fresh: socket.socket) -> None:
        fresh.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        fresh.bind(address)
        fresh.listen()

    return inside(namespace, listen)


class StubController:
    """A controller for tests only: serves the desired states that a test sets, and keeps the reports."""

    def __init__(self) -> None:
        self.reports: dict[str, list[tuple[float, Report]]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.refuse_token = False
        self.issue: Callable[[str, str], Certified] | None = None  # from a cloudlet's name and request
        self.counted: dict[str, AccessReport] = {}
        self._desired: dict[str, Desired] = {}
        self._access: dict[str, Access] = {}
        self._changed = asyncio.Condition()
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def set(self, desired: Desired) -> None:
        async with self._changed:
            self._desired[desired.cloudlet] = desired
            self._changed.notify_all()

    async def filter(self, cloudlet: str, access: Access) -> None:
        async with self._changed:
            self._access[cloudlet] = access
            self._changed.notify_all()

    async def start(self) -> None:
        api = "/api/v1"
        app = Starlette(
            routes=[
                Route(f"{api}/enrolments", self._enrol, methods=["POST"]),
                Route(f"{api}/agent/desired", self._stream),
                Route(f"{api}/agent/reports", self._report, methods=["POST"]),
                Route(f"{api}/agent/access", self._count, methods=["POST"]),
            ]
        )
        config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=0)
        self._server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening_socket("core", STUB)]))

    async def stop(self) -> None:
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            async with self._changed:
                self._changed.notify_all()
            await self._serving

    async def _enrol(self, request: Request) -> Response:
        body = await request.json()
        if self.refuse_token or body["token"] != f"token-{body['cloudlet']}":
            return JSONResponse({"title": "Unauthorized", "detail": "the token was used before"}, status_code=401)
        answer = {"cloudlet": body["cloudlet"], "credential": f"secret-{body['cloudlet']}", "state": "active"}
        if self.issue is not None:
            answer["certified"] = self.issue(body["cloudlet"], body["csr"]).model_dump()
        return JSONResponse(answer, status_code=201)

    async def _report(self, request: Request) -> Response:
        report = Report.model_validate_json(await request.body())
        assert request.headers["authorization"] == f"Bearer secret-{report.cloudlet}"
        self.reports.setdefault(report.cloudlet, []).append((time.monotonic(), report))
        async with self._changed:
            self._changed.notify_all()
        return Response(status_code=204)

    async def _count(self, request: Request) -> Response:
        report = AccessReport.model_validate_json(await request.body())
        assert request.headers["authorization"] == f"Bearer secret-{report.cloudlet}"
        async with self._changed:
            self.counted[report.cloudlet] = report
            self._changed.notify_all()
        return Response(status_code=204)

    async def _stream(self, request: Request) -> Response:
        cloudlet = request.headers["authorization"].removeprefix("Bearer secret-")
        last = request.headers.get("last-event-id")
        async with self._changed:
            self.requests.append((cloudlet, last))
            self._changed.notify_all()
        return EventSourceResponse(self._events(cloudlet, int(last) if last else None))

    async def _events(self, cloudlet: str, version: int | None) -> AsyncIterator[ServerSentEvent]:
        filtered: Access | None = None
        while self._server is not None and not self._server.should_exit:
            if (access := self._access.get(cloudlet)) is not None and access != filtered:
                filtered = access
                yield ServerSentEvent(data=access.model_dump_json(), event="access")
            async with self._changed:
                if self._access.get(cloudlet) != filtered:
                    continue
                desired = self._desired.get(cloudlet)
                if desired is None or desired.version == version:
                    await self._changed.wait()
                    continue
            version = desired.version
            yield ServerSentEvent(data=desired.model_dump_json(), event="desired", id=str(version))

    async def wait(
        self, cloudlet: str, good: Callable[[Report], bool], seconds: float = 15.0, skip: int = 0
    ) -> tuple[float, Report]:
        """Return the first report that is good, after the first `skip` ones, and the time at which it came."""

        def found() -> list[tuple[float, Report]]:
            return [(t, r) for t, r in self.reports.get(cloudlet, ())[skip:] if good(r)]

        try:
            await self.until(lambda: bool(found()), seconds)
        except TimeoutError:
            last = self.reports.get(cloudlet, [(0.0, None)])[-1][1]
            raise AssertionError(f"no such report of {cloudlet} in {seconds} s; the last one: {last}") from None
        return found()[0]

    async def until(self, true: Callable[[], bool], seconds: float = 15.0) -> None:
        """Wait until a condition on the reports or requests is true."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(true)


def prefix6(n: int) -> str:
    return f"2001:db8:{n}::/64"


def desired(
    n: int, remotes: set[int], version: int, ve_ids: dict[int, int] | None = None, ipv6: bool = False, **changes: Any
) -> Desired:
    """Return the desired state of site n with one VPLS endpoint, in a pool with `remotes`. VE IDs are site numbers
    unless given."""
    ve = {i: i for i in range(1, 10)} | (ve_ids or {})
    endpoint = Endpoint(
        name=f"e{n}",
        index=1,
        flavour=Flavour.VPLS,
        prefix=f"10.{n}.0.0/24",
        gateway=f"10.{n}.0.1",
        ports=["md*"],
        rt=target(n),
        rd=target(n),
        ve_id=ve[n],
        vni=None,
        vtep=vtep(n),
        mtu=1450,
        lease_seconds=3600,
        remotes=[
            Remote(
                endpoint=f"e{r}",
                cloudlet=f"c{r}",
                prefix=f"10.{r}.0.0/24",
                vtep=vtep(r),
                ve_id=ve[r],
                prefix6=prefix6(r) if ipv6 else None,
            )
            for r in sorted(remotes)
        ],
        prefix6=prefix6(n) if ipv6 else None,
        gateway6=f"2001:db8:{n}::1" if ipv6 else None,
    )
    return Desired(
        version=version,
        generation=version,
        cloudlet=f"c{n}",
        asn=ASN,
        router_id=vtep(n),
        vtep=vtep(n),
        speakers=[Speaker(name=f"rs{i}", address=a, asn=ASN) for i, a in enumerate(ROUTE_SERVERS, 1)],
        endpoints=[endpoint.model_copy(update=changes)],
    )
