"""The client of a route server's control API (HTTP/JSON). No other module speaks HTTP to route servers."""

import json
import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, TypeVar

import httpx
from httpx_sse import SSEError, aconnect_sse
from pydantic import ValidationError

from controller.runtime.event_log import ServerEvent
from controller.settings import RouteServerSettings
from controller.wire import tracing
from controller.wire.rulesets import Change, Operation, Receipt, RuleSet, SetEndpoint

SILENCE = 40.0
"""Seconds without data on the stream of events after which it counts as broken: a comment comes every 15 s."""

WATCHERS = 50
"""Most streams of routes at the same time; further ones are refused."""


@cache
def _authorities() -> ssl.SSLContext:
    """Return httpx's default authorities, for all clients. Reading them takes 60 ms, so they are read once."""
    return httpx.create_ssl_context(trust_env=False)


class Unreachable(Exception):  # noqa: N818 - a condition that passes
    """The route server does not answer, or its answer cannot be used."""


class OtherGeneration(Exception):  # noqa: N818 - an answer
    """The route server is not at the generation that a change starts from. `found` is its generation, 0 if it does not
    say."""

    def __init__(self, message: str, found: int = 0) -> None:
        super().__init__(message)
        self.found = found


class RefusedByRouteServer(Exception):  # noqa: N818 - an answer
    """The route server says that the request is wrong."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class TooSoon(RefusedByRouteServer):
    """The route server did the same only a moment ago. `seconds` is the time after which it does it again."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(httpx.codes.TOO_MANY_REQUESTS, message)
        self.seconds = seconds


OF_SESSION = ("no-session", "not-capable", "family")
"""Codes of conflicts that concern the session with a PE, not the generation."""


class RouteServerClient:
    """Calls over kept-alive connections; `timeout` in seconds. `tls` has the trusted authorities for https URLs;
    without it, httpx's default ones are trusted. Every call may raise Unreachable."""

    def __init__(
        self, server: RouteServerSettings, token: str | None, timeout: float, tls: ssl.SSLContext | None = None
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        limits = httpx.Limits(max_connections=20, max_keepalive_connections=8, keepalive_expiry=60)
        self._client = httpx.AsyncClient(
            base_url=server.control,
            headers=headers,
            limits=limits,
            timeout=httpx.Timeout(timeout, connect=min(1.0, timeout)),
            trust_env=False,
            verify=tls or _authorities(),
        )
        self._permits = True
        self._told: tuple[RuleSet, RuleSet] | None = None
        # Streams of routes have connections of their own, so that a change always finds a free connection.
        self._watching = httpx.AsyncClient(
            base_url=server.control,
            headers=headers,
            limits=httpx.Limits(max_connections=WATCHERS),
            timeout=httpx.Timeout(SILENCE, connect=1.0, pool=1.0),
            trust_env=False,
            verify=tls or _authorities(),
        )

    async def status(self) -> dict[str, Any]:
        """Return generation, whether it is confirmed, sessions and counters. `understood` depends on it."""
        status = await self._call("GET", "/v1/status")
        self._permits = bool(status.get("permits"))
        return status

    def understood(self, rules: RuleSet) -> RuleSet:
        """Return a rule set in the form that the server understands: a release without permits would refuse them."""
        if self._permits:
            return rules
        if self._told is None or self._told[0] is not rules:
            endpoints = [e.model_copy(update={"permits": None}) for e in rules.endpoints]
            self._told = rules, rules.model_copy(update={"endpoints": endpoints})
        return self._told[1]

    async def rule_set(self) -> RuleSet:
        """Return the rule set in force; an empty one at generation 0 if the server never had one."""
        try:
            return _parsed(RuleSet, await self._call("GET", "/v1/ruleset"))
        except RefusedByRouteServer as refused:
            if refused.status != httpx.codes.NOT_FOUND:
                raise
            return RuleSet(generation=0, peers=[], endpoints=[], vcps=[])

    async def replace(self, rules: RuleSet, within: int | None = None) -> Receipt:
        """Put a whole rule set in force, on trial for `within` seconds if that is not None."""
        told = self.understood(rules).model_dump_json()
        return _parsed(Receipt, await self._call("PUT", "/v1/ruleset", told, _trial(within)))

    async def change(self, change: Change, within: int | None = None) -> Receipt:
        """Apply a change, on trial for `within` seconds if that is not None; raises OtherGeneration if the server is at
        another generation."""
        told = change if self._permits else change.model_copy(update={"ops": [_plain(op) for op in change.ops]})
        return _parsed(Receipt, await self._call("POST", "/v1/changes", told.model_dump_json(), _trial(within)))

    async def confirm(self, generation: int) -> None:
        """Confirm that the generation in force there is the current one, and is to stay."""
        await self._call("POST", "/v1/confirm", json.dumps({"generation": generation}))

    async def heartbeat(self, generation: int) -> None:
        """Confirm that the generation there is still the current one; unlike `confirm`, this ends no trial."""
        await self._call("POST", "/v1/heartbeat", json.dumps({"generation": generation}))

    async def keys(self) -> str:
        """Return the digest of the neighbours' keys that the server has."""
        return str((await self._call("GET", "/v1/keys")).get("digest"))

    async def tell_keys(self, keys: dict[str, str]) -> None:
        """Put the keys of neighbours in force, by address; they replace all earlier ones."""
        entries = [{"address": address, "password": key} for address, key in sorted(keys.items())]
        await self._call("PUT", "/v1/keys", json.dumps({"keys": entries}))

    async def routes(self, query: dict[str, str]) -> dict[str, Any]:
        """Return routes, as a looking glass."""
        return await self._call("GET", "/v1/routes", query=query)

    async def explain(self, query: dict[str, str]) -> dict[str, Any]:
        """Return why a route reached an endpoint's PE, or did not."""
        return await self._call("GET", "/v1/explain", query=query)

    async def diff(self, query: dict[str, str]) -> dict[str, Any]:
        """Return the difference between the routes sent to a PE and those it should have, or between two
        generations."""
        return await self._call("GET", "/v1/diff", query=query)

    async def held(self, query: dict[str, str]) -> dict[str, Any]:
        """Return the routes held back from PEs that ended their sessions because of them."""
        return await self._call("GET", "/v1/held", query=query)

    async def release(self, peer: str, nlri: str | None) -> dict[str, Any]:
        """Send a PE the routes again that are held back from it: one route, or all."""
        body = json.dumps({"nlri": nlri}) if nlri else None
        return await self._call("POST", f"/v1/peers/{peer}/release", body)

    async def lookup(self, query: dict[str, str]) -> dict[str, Any]:
        """Return the routes that lead to an address, a prefix or a MAC address."""
        return await self._call("GET", "/v1/lookup", query=query)

    async def paths(self, nlri: str) -> dict[str, Any]:
        """Return all announcements of a route, and what others are sent of it."""
        return await self._call("GET", "/v1/paths", query={"nlri": nlri})

    async def counts(self, query: dict[str, str]) -> dict[str, Any]:
        """Return the numbers of routes of each PE."""
        return await self._call("GET", "/v1/counts", query=query)

    async def reset(self, peer: str, text: str) -> dict[str, Any]:
        """End the session with a PE, with a text for its operators. Raises RefusedByRouteServer if there is none."""
        return await self._call("POST", f"/v1/peers/{peer}/reset", json.dumps({"text": text}))

    async def refresh(self, peer: str, direction: str, family: str | None) -> dict[str, Any]:
        """Ask a PE for its routes again (`in`), send it its routes again (`out`), or `both`. Raises
        RefusedByRouteServer if there is no session, or it cannot do that, and TooSoon."""
        body = {"direction": direction} | ({"family": family} if family else {})
        return await self._call("POST", f"/v1/peers/{peer}/refresh", json.dumps(body))

    async def watch(self, query: dict[str, str]) -> AsyncIterator[dict[str, Any]]:
        """Yield events of routes, each with its `kind`, until the connection breaks (Unreachable). The first is
        `watching`: from then on no event is missed. `cut` is the last one to a reader that is too slow."""
        try:
            async with aconnect_sse(self._watching, "GET", "/v1/watch", params=query) as source:
                if source.response.is_error:
                    await source.response.aread()
                    raise Unreachable(f"watch: HTTP {source.response.status_code}")
                yield {"kind": "watching"}
                async for event in source.aiter_sse():
                    if event.data:
                        yield {"kind": event.event, **json.loads(event.data)}
        except (httpx.HTTPError, SSEError, ValueError) as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        raise Unreachable("closed the stream of routes")

    async def events(self, after: int) -> AsyncIterator[ServerEvent]:
        """Yield events after the one numbered `after`, as they happen, until the connection breaks (Unreachable)."""
        timeout = httpx.Timeout(SILENCE, connect=1.0)
        try:
            async with aconnect_sse(
                self._client, "GET", "/v1/events", params={"after": after}, timeout=timeout
            ) as source:
                if source.response.is_error:
                    raise Unreachable(f"events: HTTP {source.response.status_code}")
                async for event in source.aiter_sse():
                    if not event.data:
                        continue  # a comment that keeps the connection alive
                    data = json.loads(event.data)
                    number = int(event.id) if event.id.isdigit() else int(data.get("seq", 0))
                    kind = event.event if event.event != "message" else str(data.get("kind", "event"))
                    yield ServerEvent(number, kind, data)
        except (httpx.HTTPError, SSEError, ValueError, AttributeError) as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        raise Unreachable("closed the stream of events")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        await self._watching.aclose()

    async def _call(
        self, method: str, path: str, content: str | None = None, query: dict[str, str] | None = None
    ) -> dict[str, Any]:
        headers = tracing.headers() | ({"Content-Type": "application/json"} if content is not None else {})
        try:
            response = await self._client.request(method, path, content=content, params=query, headers=headers)
            body: dict[str, Any] = response.json() if response.content else {}
        except httpx.HTTPError as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        except ValueError as error:
            raise Unreachable(f"{method} {path}: not JSON") from error
        if response.is_success:
            return body
        refusal = body.get("error") or {}
        message = f"{method} {path}: {refusal.get('message') or f'HTTP {response.status_code}'}"
        if response.status_code == httpx.codes.CONFLICT and refusal.get("code") in OF_SESSION:
            raise RefusedByRouteServer(response.status_code, message)
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS and refusal.get("code") == "too-soon":
            after = response.headers.get("Retry-After", "")
            raise TooSoon(message, int(after) if after.isdecimal() else 1)
        if response.status_code == httpx.codes.CONFLICT:
            raise OtherGeneration(message, int(refusal.get("generation") or 0))
        if response.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.NOT_FOUND, httpx.codes.UNPROCESSABLE_ENTITY):
            raise RefusedByRouteServer(response.status_code, message)
        raise Unreachable(message)


def _plain(op: Operation) -> Operation:
    """Return an operation without permits, for releases that do not know them."""
    if not isinstance(op, SetEndpoint):
        return op
    return op.model_copy(update={"endpoint": op.endpoint.model_copy(update={"permits": None})})


def _trial(within: int | None) -> dict[str, str] | None:
    return None if within is None else {"confirm_within": str(within)}


_T = TypeVar("_T", RuleSet, Receipt)


def _parsed(model: type[_T], body: dict[str, Any]) -> _T:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise Unreachable(
            f"answers with something that is not a {model.__name__}: {error.errors()[0]['msg']}"
        ) from error
