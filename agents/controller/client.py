"""Access to the controller: HTTP by httpx, over TLS if its URL says so, and server-sent events by httpx-sse. No other
module of the agent imports these."""

import asyncio
import logging
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Self

import httpx
from httpx_sse import SSEError, aconnect_sse
from pydantic import ValidationError

from controller.wire.access import Access, AccessReport
from controller.wire.certificates import CONTROLLER, Authorities, CertificateRequest, Certified, Revocations
from controller.wire.delegations import Exchange, Exchanged
from controller.wire.desired import Desired
from controller.wire.enrolments import Enrolment, EnrolmentRequest
from controller.wire.images import ImageReport, ImageSources, WantedImages
from controller.wire.model import Message
from controller.wire.moves import MoveReport, Orders
from controller.wire.neighbours import Candidates, NeighbourReport
from controller.wire.probes import ProbeReport, ProbeRequest
from controller.wire.reports import Report
from controller.wire.session_keys import SessionKeys, SessionKeysHeld
from controller.wire.sightings import SightingReport

log = logging.getLogger(__name__)

_TIMEOUT = httpx.Timeout(10.0, connect=3.0)
_STREAM_TIMEOUT = httpx.Timeout(45.0, connect=3.0)  # the controller sends a comment line more often than that
Document = (
    Desired | Authorities | Candidates | Orders | Revocations | Access | SessionKeys | WantedImages | ProbeRequest
)
FOLLOWED: dict[str, type[Document]] = {
    "desired": Desired,
    "authorities": Authorities,
    "candidates": Candidates,
    "orders": Orders,
    "revocations": Revocations,
    "access": Access,
    "session-keys": SessionKeys,
    "images": WantedImages,
    "probes": ProbeRequest,
}
"""The documents on the stream, by the names of their events."""

_LIMITS = httpx.Limits(max_connections=20, max_keepalive_connections=4, keepalive_expiry=60.0)
_LONGEST_REST = 60.0  # most seconds of a pause, whatever the replica asks for


class ControllerAway(Exception):  # noqa: N818 - a condition that passes, not a failure
    """The controller cannot be reached, or cannot answer now."""


class ControllerRefused(Exception):  # noqa: N818 - an answer
    """The controller refused a call. `status` is the HTTP status; the text is the problem's detail (RFC 9457). `clock`
    is the controller's time, if it said so."""

    def __init__(self, status: int, detail: str, clock: datetime | None = None) -> None:
        super().__init__(detail)
        self.status, self.clock = status, clock


@dataclass(frozen=True)
class Greeting:
    """The words of a host at the controller's address to anybody; nobody has checked them. `authorities` are to be
    trusted, PEM, None if it issues no certificates; `clock` is its time."""

    authorities: str | None
    clock: datetime | None


class Controller:
    """One controller, or several replicas of it, over kept-alive connections. When the present replica is away, or asks
    for a pause (429), the next call goes to the next replica. Every call raises ControllerAway or ControllerRefused.
    Over TLS no call succeeds before `secure` was called."""

    def __init__(self, *urls: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._resting: dict[httpx.URL, float] = {}
        self._bases = [httpx.URL(url.rstrip("/") + "/api/v1/") for url in urls]
        self._present, self._headers, self._transport = self._bases[0], {"Content-Type": "application/json"}, transport
        self._client = self._new(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))  # trusts nobody
        self._busy: Counter[httpx.AsyncClient] = Counter()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def tls(self) -> bool:
        """Whether all replicas are called over TLS."""
        return all(base.scheme == "https" for base in self._bases)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.gather(*self._closing)
        await self._client.aclose()

    def use(self, credential: str) -> None:
        """Set the bearer token of all later calls."""
        self._headers["Authorization"] = f"Bearer {credential}"

    def secure(self, context: ssl.SSLContext) -> None:
        """Set the TLS context of later connections. Present ones go on as they are."""
        before, self._client = self._client, self._new(context)
        if not self._busy[before]:
            self._leave(before)

    async def authorities(self) -> Authorities:
        """Return the authorities to trust according to the host at the controller's address, which nobody has
        checked."""
        return _authorities(await self._unchecked())

    async def greet(self) -> Greeting:
        """Ask the host at the controller's address what it says to anybody."""
        try:
            answer = await self._unchecked()
        except ControllerRefused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise
            return Greeting(None, refused.clock)
        return Greeting(_authorities(answer).authorities, _clock(answer))

    async def _unchecked(self) -> httpx.Response:
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        nobody.check_hostname, nobody.verify_mode = False, ssl.CERT_NONE
        async with self._new(nobody) as client:
            return await self._ask(client, "GET", "enrolments/authorities", {})

    async def enrol(self, request: EnrolmentRequest) -> Enrolment:
        """Trade the one-time token for a credential."""
        return Enrolment.model_validate_json((await self._post("enrolments", request)).content)

    async def report(self, report: Report) -> None:
        """Report the cloudlet's state."""
        await self._post("agent/reports", report)

    async def certificate(self, request: CertificateRequest) -> Certified:
        """Ask for the next certificate."""
        answer = await self._post("agent/certificate", request)
        try:
            return Certified.model_validate_json(answer.content)
        except ValidationError as error:
            raise ControllerAway(f"sent a certificate as this agent does not understand: {error}") from error

    async def exchange(self, exchange: Exchange) -> Exchanged:
        """Account for delegated ranges."""
        answer = await self._post("agent/leases/exchange", exchange)
        try:
            return Exchanged.model_validate_json(answer.content)
        except ValidationError as error:
            raise ControllerAway(f"answered an exchange as this agent does not understand: {error}") from error

    async def neighbours(self, report: NeighbourReport) -> None:
        """Report probes of neighbours; return when the database has them."""
        await self._post("agent/neighbours", report)

    async def sightings(self, report: SightingReport) -> None:
        """Report where devices were seen; return when the database has it."""
        await self._post("agent/sightings", report)

    async def access(self, report: AccessReport) -> None:
        """Report the counters of access rules; return when the database has them."""
        await self._post("agent/access", report)

    async def session_keys(self, held: SessionKeysHeld) -> None:
        """Report which keys BGP sessions have; return when the database has it."""
        await self._post("agent/session-keys", held)

    async def probes(self, report: ProbeReport) -> None:
        """Report the results of probes that the controller has asked for."""
        await self._post("agent/probes", report)

    async def images(self, report: ImageReport) -> None:
        """Report the images here; return when the database has them."""
        await self._post("agent/images", report)

    async def image_sources(self, name: str) -> ImageSources:
        """Return where an image of the policy can be fetched."""
        answer = await self._get(f"agent/images/{name}/sources")
        try:
            return ImageSources.model_validate_json(answer.content)
        except ValidationError as error:
            raise ControllerAway(f"sent sources of an image as this agent does not understand: {error}") from error

    async def moves(self, report: MoveReport) -> None:
        """Report the progress of orders; return when the database has it."""
        await self._post("agent/moves", report)

    async def desired(self, version: int | None, opened: Callable[[], None]) -> AsyncIterator[Document]:
        """Yield desired states as they come, over one connection, until it breaks. The first one comes at once unless
        it has `version`. Between them come the candidates to probe, orders for moves, revocations, access rules and the
        like; one of these that the agent does not understand is skipped. `opened` is called when the controller has
        accepted the stream."""
        headers, spoken_to = {} if version is None else {"Last-Event-ID": str(version)}, self._base()
        url, headers = str(spoken_to.join("agent/desired")), self._headers | headers
        try:
            async with (
                self._using() as client,
                aconnect_sse(client, "GET", url, headers=headers, timeout=_STREAM_TIMEOUT) as source,
            ):
                if source.response.is_error:
                    await source.response.aread()
                self._heed(spoken_to, source.response)
                _check(source.response)
                opened()
                async for event in source.aiter_sse():
                    if (kind := FOLLOWED.get(event.event)) is None:
                        continue
                    try:
                        document = kind.model_validate_json(event.data)
                    except ValidationError as error:
                        if kind is Desired:
                            raise
                        log.warning("sent %s that this agent does not understand: %s", event.event, error)
                        continue
                    yield document
        except ControllerAway:
            self._next(spoken_to)
            raise
        except (httpx.HTTPError, SSEError) as error:
            self._next(spoken_to)
            raise ControllerAway(_reason(error)) from error
        except ValidationError as error:
            raise ControllerAway(f"sent a desired state that this agent does not understand: {error}") from error
        self._next(spoken_to)
        raise ControllerAway("closed the stream")

    async def _post(self, path: str, message: Message) -> httpx.Response:
        async with self._using() as client:
            return await self._ask(client, "POST", path, self._headers, message.model_dump_json())

    async def _get(self, path: str) -> httpx.Response:
        async with self._using() as client:
            return await self._ask(client, "GET", path, self._headers)

    async def _ask(
        self, client: httpx.AsyncClient, method: str, path: str, headers: dict[str, str], content: str = ""
    ) -> httpx.Response:
        spoken_to = self._base()
        url = spoken_to.join(path)
        try:
            try:
                response = await client.request(method, url, content=content, headers=headers)
            except httpx.RemoteProtocolError:  # the kept-alive connection had just been closed
                response = await client.request(method, url, content=content, headers=headers)
        except httpx.HTTPError as error:
            self._next(spoken_to)
            raise ControllerAway(_reason(error)) from error
        if self._heed(spoken_to, response):
            self._next(spoken_to)
        _check(response)
        return response

    def _base(self) -> httpx.URL:
        """Return the replica to call. Raises ControllerAway during the pause that this replica has asked for."""
        base = self._present
        left = self._resting.get(base, 0.0) - time.monotonic()
        if left > 0:
            self._next(base)
            raise ControllerAway(f"{base.host} is not asked again for {left:.0f} s, as it said")
        return base

    def _heed(self, base: httpx.URL, response: httpx.Response) -> bool:
        """Return whether the replica asked for a pause (RFC 9110, section 10.2.3), and remember that."""
        if response.status_code != 429:
            return False
        asked = response.headers.get("retry-after", "")
        self._resting[base] = time.monotonic() + min(float(asked) if asked.isdecimal() else 1.0, _LONGEST_REST)
        return True

    def _new(self, context: ssl.SSLContext) -> httpx.AsyncClient:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        transport = self._transport or _Named(verify=context, limits=_LIMITS, trust_env=False)
        return httpx.AsyncClient(timeout=_TIMEOUT, trust_env=False, transport=transport)

    @asynccontextmanager
    async def _using(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend the present client. A client that has been replaced is closed after its last use."""
        client = self._client
        self._busy[client] += 1
        try:
            yield client
        finally:
            self._busy[client] -= 1
            if client is not self._client and not self._busy[client]:
                self._leave(client)

    def _leave(self, client: httpx.AsyncClient) -> None:
        del self._busy[client]
        closing = asyncio.get_running_loop().create_task(client.aclose())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _next(self, away: httpx.URL) -> None:
        """Call the next replica from now on, unless that has happened already."""
        if self._present == away:
            self._present = self._bases[(self._bases.index(away) + 1) % len(self._bases)]


class _Named(httpx.AsyncHTTPTransport):
    """Checks one name over TLS, the controller's, whatever its address is."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions["sni_hostname"] = CONTROLLER
        return await super().handle_async_request(request)


def _reason(error: BaseException) -> str:
    """Return what went wrong. If a certificate was not accepted, that is it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"it is not the controller, or this agent trusts another root: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__


def _authorities(answer: httpx.Response) -> Authorities:
    try:
        return Authorities.model_validate_json(answer.content)
    except ValidationError as error:
        raise ControllerAway(f"sent authorities as this agent does not understand: {error}") from error


def _clock(response: httpx.Response) -> datetime | None:
    """Return the time in the header Date (RFC 9110, section 6.6.1)."""
    try:
        clock = parsedate_to_datetime(response.headers.get("date", ""))
    except ValueError:
        return None
    return clock if clock.tzinfo is not None else None


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
        raise ControllerRefused(response.status_code, detail, _clock(response))
    raise ControllerAway(detail)
