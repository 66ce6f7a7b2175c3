"""The application of the UI's listener: the UI's files, and the same REST API for sessions of browsers.

Only here is a session's cookie taken, and only from the UI's own pages (`core/same_origin.py`). Agents have their own
listener, so their paths do not exist here."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import AGENTS
from controller.api.middleware.body_limits import ENROLMENTS
from controller.api.middleware.request_head import RequestHead
from controller.api.sessions import COOKIE
from controller.auth.oidc_flow import CALLBACK
from controller.auth.sessions import SESSION, UI, ShownSession
from controller.core.same_origin import foreign
from controller.runtime.problems import Problem, response
from controller.server.pages import Pages
from controller.server.response_headers import ResponseHeaders

API, OWN = "/api/", "/ui/"
"""Prefixes of the REST API's paths, and of those that only this listener has."""

OPEN = ("/healthz", "/readyz")
"""Paths for whatever is in front of the controller."""

UNATTENDED = "weft-unattended"
"""Header of a request that a page makes by itself: it does not keep its user's session alive."""

LONGEST_COOKIE = 4096
"""Characters of a Cookie header that are read."""


class Ui:
    """Serves the files itself, and passes the rest on to the API's application."""

    def __init__(self, app: ASGIApp, pages: Pages) -> None:
        self._app = app
        self._pages = ResponseHeaders(RequestHead(pages))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if not (path.startswith((API, OWN)) or path in OPEN):
            await self._pages(scope, receive, send)
            return
        try:
            _admit(scope, path)
        except Problem as problem:
            await ResponseHeaders(response(problem, path[:200]))(scope, receive, send)
            return

        async def private(message: Message) -> None:
            """Keep answers out of the browser's cache: the next user may be another one."""
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, private)


def _admit(scope: Scope, path: str) -> None:
    """Mark the request as one of this listener, with its session. Raises Problem for one from another site."""
    if path.startswith((AGENTS, ENROLMENTS)):
        raise Problem(404, "Agents are not served here, but at WEFT_AGENT_LISTEN.")
    headers = Headers(scope=scope)
    scope[UI] = True
    if "authorization" in headers:
        return  # a program says itself who it is, and no page of another site can
    secret = cookie_parser(headers.get("cookie", "")[:LONGEST_COOKIE]).get(COOKIE)
    if path != CALLBACK and (secret or path.startswith(OWN)) and foreign(scope["method"], headers):
        raise Problem(
            403,
            "The request comes from a page of another site, or does not say from which: the UI's own pages alone may "
            "use a session.",
        )
    if secret:
        scope[SESSION] = ShownSession(secret, UNATTENDED not in headers)
