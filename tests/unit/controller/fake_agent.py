"""A fake agent: enrols, follows its desired state, and reports a kernel that agrees with it. There is no kernel."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
from httpx_sse import aconnect_sse

from controller.wire.access import Access
from controller.wire.desired import Desired
from controller.wire.images import ImageReport, WantedImages
from controller.wire.moves import Orders
from controller.wire.neighbours import Candidates
from controller.wire.probes import ProbeReport, ProbeRequest, ProbeResult, ProbeTarget
from controller.wire.reports import Report
from tests.kernels import kernel


def found(target: ProbeTarget) -> ProbeResult:
    """Return the result of a probe where all is as it should be."""
    there = ProbeResult(endpoint=target.endpoint, remote=target.remote, address=target.address)
    if target.mtu is None:
        return there
    return there.model_copy(update={"resolved_ms": 1.0, "echo_ms": 2.0, "tried": target.mtu, "mtu": target.mtu})


class FakeAgent:
    """An agent. With `answers=False` it follows and never reports. `documents` has the desired states that it received.
    `finds` returns the result of each probe that it is asked for; None: it sends none."""

    def __init__(self, http: httpx.AsyncClient, credential: str, *, answers: bool = True) -> None:
        self.http, self.answers = http, answers
        self.headers = {"Authorization": f"Bearer {credential}"}
        self.documents: list[Desired] = []
        self.candidates: list[Candidates] = []
        self.orders: list[Orders] = []
        self.access: list[Access] = []
        self.images: list[WantedImages] = []
        self.understands: list[str] = []
        self.probed: list[ProbeRequest] = []
        self.finds: Callable[[ProbeTarget], ProbeResult] | None = found
        self.order: list[str] = []
        self.came = asyncio.Condition()
        self.ended = False

    async def follow(self, last_id: int | None = None) -> None:
        headers = self.headers | ({"Last-Event-ID": str(last_id)} if last_id is not None else {})
        async with aconnect_sse(self.http, "GET", "/api/v1/agent/desired", headers=headers, timeout=None) as source:
            async for event in source.aiter_sse():
                if event.event == "candidates":
                    await self._candidates(Candidates.model_validate_json(event.data))
                    continue
                if event.event == "orders":
                    await self._orders(Orders.model_validate_json(event.data))
                    continue
                if event.event == "images":
                    await self._images(WantedImages.model_validate_json(event.data))
                    continue
                if event.event == "probes":
                    await self._probes(ProbeRequest.model_validate_json(event.data))
                    continue
                if event.event in ("authorities", "revocations"):
                    continue
                self.order.append(event.event)
                if event.event == "access":
                    async with self.came:
                        self.access.append(Access.model_validate_json(event.data))
                        self.came.notify_all()
                    continue
                document = Desired.model_validate_json(event.data)
                assert event.event == "desired" and event.id == str(document.version)
                async with self.came:
                    self.documents.append(document)
                    self.came.notify_all()
                if self.answers:
                    await self.report(kernel(document).model_copy(update={"understands": self.understands}))
        self.ended = True

    async def _candidates(self, document: Candidates) -> None:
        async with self.came:
            self.candidates.append(document)
            self.came.notify_all()

    async def _orders(self, document: Orders) -> None:
        async with self.came:
            self.orders.append(document)
            self.came.notify_all()

    async def _probes(self, asked: ProbeRequest) -> None:
        self.probed.append(asked)
        if self.finds is not None:
            results = [self.finds(target) for target in asked.targets]
            body = ProbeReport(cloudlet=asked.cloudlet, number=asked.number, results=results).model_dump()
            assert (await self.http.post("/api/v1/agent/probes", json=body, headers=self.headers)).status_code == 204

    async def _images(self, document: WantedImages) -> None:
        async with self.came:
            self.images.append(document)
            self.came.notify_all()

    async def wants(self, *names: str) -> WantedImages:
        """Wait until these are the images that it should have."""
        async with asyncio.timeout(5), self.came:
            await self.came.wait_for(
                lambda: bool(self.images) and [image.name for image in self.images[-1].images] == list(names)
            )
        return self.images[-1]

    async def stores(self, report: ImageReport) -> httpx.Response:
        return await self.http.post("/api/v1/agent/images", json=report.model_dump(), headers=self.headers)

    async def moves(self, **report: Any) -> httpx.Response:
        return await self.http.post("/api/v1/agent/moves", json=report, headers=self.headers)

    async def probes(self, *names: str) -> Candidates:
        """Wait until these are the neighbours that it should probe."""
        async with asyncio.timeout(5), self.came:
            await self.came.wait_for(
                lambda: bool(self.candidates) and [c.cloudlet for c in self.candidates[-1].candidates] == list(names)
            )
        return self.candidates[-1]

    async def report(self, report: Report) -> httpx.Response:
        return await self.http.post("/api/v1/agent/reports", json=report.model_dump(), headers=self.headers)

    async def document(self, generation: int) -> Desired:
        """Wait for a document of that generation or a later one, and return it."""
        async with asyncio.timeout(5), self.came:
            await self.came.wait_for(lambda: bool(self.documents) and self.documents[-1].generation >= generation)
        return self.documents[-1]

    async def lease(self, **request: Any) -> httpx.Response:
        return await self.http.post("/api/v1/agent/leases", json=request, headers=self.headers)
