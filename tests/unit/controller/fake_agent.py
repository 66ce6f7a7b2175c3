"""A fake agent: enrols, follows its desired state, and says that its kernel is just so. There is no kernel."""

import asyncio
from typing import Any

import httpx
from httpx_sse import aconnect_sse

from controller.wire.desired import Desired
from controller.wire.reports import EndpointState, Report, Tunnel


def kernel(desired: Desired) -> Report:
    """The report of a cloudlet that is all it should be."""
    states = [
        EndpointState(
            endpoint=e.name,
            bridge=f"lan{e.index}",
            ports=[],
            tunnels=[
                Tunnel(remote=r.endpoint, vtep=r.vtep, ve_id=r.ve_id, rx_vni=1, tx_vni=1, device="pw")
                for r in e.remotes
            ],
            routes=[r.prefix for r in e.remotes],
            problems=[],
        )
        for e in desired.endpoints
    ]
    return Report(
        cloudlet=desired.cloudlet,
        version=desired.version,
        generation=desired.generation,
        agent_version="fake",
        endpoints=states,
        speakers=[],
        resident_bytes=1,
        cpu_seconds=0.1,
    )


class FakeAgent:
    """`answers=False` follows and never reports. `documents` is what came down the stream."""

    def __init__(self, http: httpx.AsyncClient, credential: str, *, answers: bool = True) -> None:
        self.http, self.answers = http, answers
        self.headers = {"Authorization": f"Bearer {credential}"}
        self.documents: list[Desired] = []
        self.came = asyncio.Condition()
        self.ended = False

    async def follow(self, last_id: int | None = None) -> None:
        headers = self.headers | ({"Last-Event-ID": str(last_id)} if last_id is not None else {})
        async with aconnect_sse(self.http, "GET", "/api/v1/agent/desired", headers=headers, timeout=None) as source:
            async for event in source.aiter_sse():
                document = Desired.model_validate_json(event.data)
                assert event.event == "desired" and event.id == str(document.version)
                async with self.came:
                    self.documents.append(document)
                    self.came.notify_all()
                if self.answers:
                    await self.report(kernel(document))
        self.ended = True

    async def report(self, report: Report) -> httpx.Response:
        return await self.http.post("/api/v1/agent/reports", json=report.model_dump(), headers=self.headers)

    async def document(self, generation: int) -> Desired:
        """The first document at that generation or a later one."""
        async with asyncio.timeout(5), self.came:
            await self.came.wait_for(lambda: bool(self.documents) and self.documents[-1].generation >= generation)
        return self.documents[-1]

    async def lease(self, **request: Any) -> httpx.Response:
        return await self.http.post("/api/v1/agent/leases", json=request, headers=self.headers)
