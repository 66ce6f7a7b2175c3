"""The door to the controller: HTTP by httpx, server-sent events by httpx-sse. Nobody else imports those."""

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

import httpx
from httpx_sse import SSEError, aconnect_sse
from pydantic import ValidationError

from controller.wire.desired import Desired
from controller.wire.enrolments import Enrolment, EnrolmentRequest
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from controller.wire.model import Message
from controller.wire.reports import Report

_TIMEOUT = httpx.Timeout(10.0, connect=3.0)
_STREAM_TIMEOUT = httpx.Timeout(45.0, connect=3.0)  # the controller sends a comment line more often than that
_LIMITS = httpx.Limits(max_connections=20, max_keepalive_connections=4, keepalive_expiry=60.0)


class ControllerAway(Exception):  # noqa: N818 - a condition that passes, not a failure
    """The controller cannot be reached or cannot answer now."""


class ControllerRefused(Exception):  # noqa: N818 - an answer
    """The controller said no. `status` is the HTTP status; the text is the problem's detail (RFC 9457)."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Controller:
    """One controller, over kept-alive connections. Every call raises ControllerAway or ControllerRefused."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        base = url.rstrip("/") + "/api/v1/"
        self._client = httpx.AsyncClient(
            base_url=base, timeout=_TIMEOUT, limits=_LIMITS, trust_env=False, transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.aclose()

    def use(self, credential: str) -> None:
        """The bearer token of every later call."""
        self._client.headers["Authorization"] = f"Bearer {credential}"

    async def enrol(self, request: EnrolmentRequest) -> Enrolment:
        """Trades the one-time token for a credential."""
        return Enrolment.model_validate_json((await self._post("enrolments", request)).content)

    async def report(self, report: Report) -> None:
        """Says what is."""
        await self._post("agent/reports", report)

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """Asks the address plan for a lease, new or renewed."""
        return LeaseGrant.model_validate_json((await self._post("agent/leases", request)).content)

    async def release(self, release: LeaseRelease) -> None:
        """Gives a lease back."""
        await self._post("agent/leases/release", release)

    async def desired(self, version: int | None, opened: Callable[[], None]) -> AsyncIterator[Desired]:
        """Desired states as they come, over one connection, until it breaks. The first one comes at once unless it
        has `version`. `opened` is called when the controller has accepted the stream."""
        headers = {} if version is None else {"Last-Event-ID": str(version)}
        try:
            async with aconnect_sse(
                self._client, "GET", "agent/desired", headers=headers, timeout=_STREAM_TIMEOUT
            ) as source:
                if source.response.is_error:
                    await source.response.aread()
                _check(source.response)
                opened()
                async for event in source.aiter_sse():
                    if event.event == "desired":
                        yield Desired.model_validate_json(event.data)
        except (httpx.HTTPError, SSEError) as error:
            raise ControllerAway(_reason(error)) from error
        except ValidationError as error:
            raise ControllerAway(f"sent a desired state that this agent does not understand: {error}") from error
        raise ControllerAway("closed the stream")

    async def _post(self, path: str, message: Message) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        try:
            content = message.model_dump_json()
            try:
                response = await self._client.post(path, content=content, headers=headers)
            except httpx.RemoteProtocolError:  # the kept-alive connection had just been closed
                response = await self._client.post(path, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise ControllerAway(_reason(error)) from error
        _check(response)
        return response


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    detail = f"HTTP {response.status_code}"
    try:
        problem = response.json()
        detail = str(problem.get("detail") or problem.get("title") or detail)
    except (ValueError, AttributeError):
        pass
    if response.is_client_error and response.status_code not in (408, 429):
        raise ControllerRefused(response.status_code, detail)
    raise ControllerAway(detail)
