"""The client of the controller's REST API. Only this file, `retries.py`, `transport.py` and `grants.py` import
httpx."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx

from controller.cli.destination import ROOT, TCP, destination
from controller.cli.failures import Refused, Unreachable, WrongUsage
from controller.cli.output import complain
from controller.cli.retries import Delivery
from controller.cli.session import session
from controller.cli.transport import believes, transport
from controller.core.roles import looks

TIMEOUT = 60.0
"""Seconds. A change waits for every route server and agent concerned, so this is well above the controller's own
limit."""

PAGE = 1000
"""Items per request, the controller's maximum."""

IN_DOUBT = "  the change may have been made all the same: look before you give the command again"

Json = dict[str, Any]


def path(*segments: str) -> str:
    """Return a path below /api/v1 made of names, each quoted whole."""
    return "/api/v1/" + "/".join(quote(segment, safe="") for segment in segments)


class Document(Json):
    """A part of an answer. Raises Unreachable for a missing key: the answer comes from another program, or another
    release."""

    def __init__(self, source: str, content: Json) -> None:
        super().__init__(content)
        self._source = source

    def __missing__(self, key: str) -> Any:
        raise Unreachable(f"{self._source} answered without {key!r}: is it Weft, and of this release?")


def document(text: str, source: str) -> Document:
    """Return the JSON object that `source` sent. Raises Unreachable."""
    try:
        found = json.loads(text, object_hook=lambda content: Document(source, content))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, Document):
        raise Unreachable(f"{source} answered with something that is not JSON of Weft: is it Weft?")
    return found


class Client:
    """One conversation with the controller. Methods return decoded JSON and raise Refused or Unreachable. Each change
    has its own Idempotency-Key, so that it is made once even if it has to be sent again."""

    repeated = False
    """Whether the last request was sent more than once."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        to = destination()
        self.url = to.url
        try:
            parts = urlsplit(self.url)
        except ValueError as error:
            raise WrongUsage(f"{self.url!r} is not a controller's URL: {error}") from None
        if parts.scheme not in ("unix", "http", "https") or not (parts.netloc or parts.path):
            raise WrongUsage(f"{self.url!r} is not a controller's URL: it begins with unix://, http:// or https://")
        if parts.scheme == "unix" and not (parts.path and not parts.netloc):
            raise WrongUsage(f"{self.url!r}: a socket's path is absolute, as in unix:///run/weft/controller.sock")
        self._token = token = to.token()
        try:
            self._http = httpx.Client(
                base_url="http://controller" if parts.scheme == "unix" else self.url,
                transport=transport(self.url, to.root_file),
                headers={"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {}),
                timeout=timeout,
                trust_env=believes(self.url, to.root_file),
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise WrongUsage(f"{self.url!r} is not a controller's URL: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: object) -> Any:
        """Return one document."""
        return self._send("GET", path, params)

    def text(self, path: str, **params: object) -> Iterator[str]:
        """Yield plain text as it arrives, however long."""
        query = {name: _text(value) for name, value in params.items() if value is not None}
        with (
            self._failures(),
            self._http.stream("GET", path, params=query, headers={"Accept": "text/plain"}) as response,
        ):
            self._check(response)
            if not response.headers.get("Content-Type", "").startswith("text/plain"):
                raise Unreachable(f"{self.url}{path} answered with something that is not plain text: is it Weft?")
            yield from response.iter_text()

    def items(self, path: str, limit: int | None = None, **params: object) -> Iterator[Json]:
        """Yield all items of a list, page by page, or the first `limit`."""
        cursor, left = None, limit
        while True:
            page = self._send("GET", path, {**params, "cursor": cursor, "limit": min(left or PAGE, PAGE)})
            for item in self._listed(page):
                yield item
                left = None if left is None else left - 1
            cursor = page.get("next")
            if not cursor or left == 0:
                return

    def pages(self, path: str, **params: object) -> Iterator[Json]:
        """Yield the pages of an answer that is more than a list of items."""
        cursor = None
        while True:
            page = self._send("GET", path, {**params, "cursor": cursor})
            yield page
            cursor = page.get("next")
            if not cursor:
                return

    def events_kept(self, path: str, after: str | None, limit: int = PAGE, **params: object) -> Iterator[Json]:
        """Yield past events in their order, in pages of `limit`."""
        while True:
            page = self._send("GET", path, {**params, "after": after, "limit": limit})
            yield from self._listed(page)
            after = page["next"]
            if not after:
                return

    def post(self, path: str, body: Json | None = None, if_match: str | None = None, **params: object) -> Any:
        """Create an object or start an action; with `if_match`, only if the object still has that entity tag."""
        return self._send("POST", path, params, json=body, headers={"If-Match": if_match} if if_match else {})

    def patch(self, path: str, body: Json, **params: object) -> Any:
        """Change some properties."""
        return self._send("PATCH", path, params, json=body)

    def post_yaml(self, path: str, text: str, if_match: str | None = None, **params: object) -> Any:
        """Send a policy or an inventory, which is based on the one with that entity tag."""
        headers = {"Content-Type": "application/yaml"} | ({"If-Match": if_match} if if_match else {})
        return self._send("POST", path, params, content=text.encode(), headers=headers)

    def delete(self, path: str, **params: object) -> Any:
        """Remove an object."""
        return self._send("DELETE", path, params)

    def events(self, path: str, last_id: str | None, **params: object) -> Iterator[tuple[str, Document]]:
        """Yield server-sent events as (id, document), until the controller ends the stream."""
        from httpx_sse import SSEError, connect_sse

        headers = {"Last-Event-ID": last_id} if last_id else {}
        with (
            self._failures(),
            connect_sse(
                self._http,
                "GET",
                path,
                params={name: _text(value) for name, value in params.items() if value is not None},
                headers=headers,
                timeout=httpx.Timeout(TIMEOUT, read=None),
            ) as source,
        ):
            self._check(source.response)
            try:
                for event in source.iter_sse():
                    if event.data:  # a comment, which keeps the connection open, has none
                        yield event.id, document(event.data, self.url)
            except SSEError as error:
                raise Unreachable(f"{self.url} did not answer with an event stream: {error}") from None

    def _send(self, method: str, path: str, params: dict[str, object], **content: Any) -> Any:
        query = {name: _text(value) for name, value in params.items() if value is not None}
        reads = looks(method, path) or bool(params.get("dry_run"))
        delivery = Delivery(lambda: self._http.send(request), reads=reads, tell=complain)
        with self._failures(delivery):
            try:
                request = self._http.build_request(method, path, params=query, **content)
            except ValueError as error:
                raise WrongUsage(f"{method} {path} cannot be written as JSON: {error}") from None
            if not reads:
                request.headers["Idempotency-Key"] = str(uuid4())
            response = delivery.answer()
            self.repeated = delivery.attempts > 1
            self._check(response, in_doubt=delivery.doubtful and "Idempotency-Replayed" not in response.headers)
            session.source = self.url
            return document(response.text if response.content else "{}", f"{self.url}{path}")

    def _listed(self, page: Json) -> list[Json]:
        items = page["items"]
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise Unreachable(f"{self.url} answered with something else than a list: is it Weft, and of this release?")
        return items

    def _check(self, response: httpx.Response, *, in_doubt: bool = False) -> None:
        if response.is_success:
            return
        response.read()
        try:
            problem = response.json()
        except ValueError:
            problem = {}
        if not isinstance(problem, dict):
            problem = {}
        title = str(problem.get("title") or response.reason_phrase or "refused")
        lines = _sentences(title, str(problem.get("detail") or f"status {response.status_code}"), problem.get("errors"))
        if response.status_code == 401 and not self._token:
            lines.append("  WEFT_TOKEN is not set, nor WEFT_TOKEN_FILE; over a network one of them gives your token")
        if in_doubt:
            lines.append(IN_DOUBT)
        if response.status_code >= 500:
            raise Unreachable(f"the controller at {self.url} failed:", *lines)
        raise Refused({"status": response.status_code, **problem}, lines)

    @contextmanager
    def _failures(self, delivery: Delivery | None = None) -> Iterator[None]:
        """Turn httpx's errors into Unreachable, as sentences."""
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            doubt = (IN_DOUBT,) if delivery is not None and delivery.doubtful else ()
            if isinstance(error, httpx.TimeoutException):
                raise Unreachable(f"the controller at {self.url} did not answer in time", *doubt) from None
            reason = str(error) or type(error).__name__
            advice = (*_advice(self.url, reason), *doubt)
            raise Unreachable(f"no controller at {self.url}: {reason}", *advice) from None


def _sentences(title: str, detail: str, errors: object) -> list[str]:
    """Return title, detail, and a line per field. The detail is left out if it only repeats the fields' messages."""
    found = [e for e in errors if isinstance(e, dict) and e.get("message")] if isinstance(errors, list) else []
    fields = [f"  {e['field']}: {e['message']}" if e.get("field") else f"  {e['message']}" for e in found]
    repeats = found and detail in ("; ".join(line.strip() for line in fields), found[0]["message"])
    return [title if repeats else f"{title}: {detail}", *fields]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _advice(url: str, reason: str) -> tuple[str, ...]:
    if "Permission denied" in reason:
        return ("  the socket belongs to the controller's user: run weft as that user or root",)
    if "certificate verify failed" in reason:
        return (f"  {ROOT} names the region's root, a file; `weft certificate authority` prints it on the controller",)
    if url == TCP:
        return ("  --url or WEFT_URL says where it is; `weft-lab up` starts one on this machine",)
    return ()
