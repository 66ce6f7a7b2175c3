"""Signing in to the web UI and out of it. Only the UI's listener serves these paths; they are no part of the REST
API."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse, Response

from controller.api.access import Running, holder, unauthorised
from controller.api.types import Body
from controller.api.whoami import Whoami, described
from controller.auth.audit_context import asks, let_in
from controller.auth.jwt import BadToken, looks_like
from controller.auth.oidc_flow import CALLBACK, NotSignedIn, SignIn
from controller.auth.oidc_issuer import Unreachable
from controller.auth.oidc_users import OidcUsers
from controller.auth.sessions import SESSION, UI, Grant, ShownSession
from controller.core import oidc_users
from controller.core.clock import now
from controller.core.oidc_users import NoRole
from controller.core.roles import Caller
from controller.core.tokens import digest
from controller.region import Region
from controller.runtime.problems import Problem

COOKIE, SIGN_IN_COOKIE = "__Host-weft", "__Host-weft-sign-in"
"""Names of cookies. By the prefix, browsers take them over TLS from this very host alone (RFC 6265bis)."""

SIGN_IN_SECONDS = 600
"""Seconds that a user has to sign in at the issuer."""

HOME = "/"
"""The only path that a redirect leads to. The page itself remembers where its user was."""


async def _here(request: Request) -> None:
    if request.scope.get(UI) is not True:
        raise Problem(404, "There is nothing here.")


router = APIRouter(prefix="/ui", include_in_schema=False, dependencies=[Depends(_here)])


class Credentials(Body):
    """The token that a user signs in with."""

    model_config = ConfigDict(hide_input_in_errors=True)

    token: Annotated[str, Field(min_length=1, max_length=8192)]


class SignInOptions(BaseModel):
    """The ways to sign in. `oidc`: at the issuer."""

    oidc: bool


@router.get("/session")
async def options(region: Running) -> SignInOptions:
    """Return the ways to sign in; open to all."""
    return SignInOptions(oidc=region.auth.oidc_flow is not None)


@router.post("/session")
async def sign_in(body: Credentials, request: Request, region: Running, response: Response) -> Whoami:
    """Trade a token for a session."""
    found, grant = await _granted(region, body.token.strip())
    let_in(found.name, 200)
    shown: ShownSession | None = request.scope.get(SESSION)
    secret, until = await region.auth.sessions.begin(grant, shown.secret if shown else None)
    _set(response, secret)
    return described(replace(found, until=until), region)


@router.delete("/session", status_code=204)
async def sign_out(request: Request, region: Running, response: Response) -> None:
    """End the session. The cookie goes in any case."""
    shown: ShownSession | None = request.scope.get(SESSION)
    if shown is not None:
        if (user := await region.auth.sessions.caller(shown)) is not None:
            let_in(user.name, 204)
        await region.auth.sessions.end(shown.secret)
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")


@router.get("/oidc")
async def to_issuer(region: Running) -> Response:
    """Send the browser to the issuer."""
    if region.auth.oidc_flow is None:
        raise Problem(404, "No issuer is configured to sign in at.")
    begun = SignIn.new()
    try:
        answer = RedirectResponse(await region.auth.oidc_flow.begin(begun), 303)
    except NotSignedIn as failed:
        return _home(failed.code)
    # Not Strict: the browser comes back from the issuer's site, and has to bring this cookie along.
    answer.set_cookie(
        SIGN_IN_COOKIE, begun.text(), SIGN_IN_SECONDS, path="/", secure=True, httponly=True, samesite="lax"
    )
    return answer


@router.get(CALLBACK.removeprefix("/ui"))
async def from_issuer(
    request: Request,
    region: Running,
    code: Annotated[str | None, Query(max_length=4096)] = None,
    state: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Begin a session for the user whom the issuer has signed in."""
    if region.auth.oidc_flow is None or region.auth.oidc_users is None:
        raise Problem(404, "No issuer is configured to sign in at.")
    try:
        begun = SignIn.read(request.cookies.get(SIGN_IN_COOKIE))
        claims = await region.auth.oidc_flow.finish(begun, state, code)
        found, grant = _of_claims(claims, region.auth.oidc_users)
    except NotSignedIn as failed:
        return _home(failed.code)
    except NoRole:
        return _home("no-role")
    with asks(found.name, "GET", CALLBACK, 303):
        secret, _ = await region.auth.sessions.begin(grant, request.cookies.get(COOKIE))
    answer = _home()
    _set(answer, secret)
    return answer


async def _granted(region: Region, token: str) -> tuple[Caller, Grant]:
    """Return the caller who has this token, and the reason for a session. Raises Problem."""
    if region.auth.oidc_users is not None and looks_like(token):
        try:
            return _of_claims(await region.auth.oidc_users.claims(token), region.auth.oidc_users)
        except BadToken as bad:
            raise unauthorised(f"This token is not accepted: {bad}.") from None
        except NoRole as none:
            raise Problem(403, f"{none}.") from None
        except Unreachable as away:
            raise Problem(503, f"This token cannot be checked now: {away}.", headers={"Retry-After": "10"}) from None
    found = await holder(region, token)
    return found, Grant(found.name, found.until, credential=digest(token))


def _of_claims(claims: dict[str, object], users: OidcUsers) -> tuple[Caller, Grant]:
    """Return the user with these claims. The session ends when a token with them would be too old, so a role that was
    taken away at the issuer ends with it. Raises NoRole."""
    found = oidc_users.caller(claims, users.mapped)
    until = now() + timedelta(seconds=users.expected.lifetime)
    return found, Grant(found.name, until, claims=oidc_users.kept(claims, users.mapped))


def _home(code: str = "") -> Response:
    answer = RedirectResponse(HOME + (f"?sign-in={code}" if code else ""), 303)
    answer.delete_cookie(SIGN_IN_COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return answer


def _set(response: Response, secret: str) -> None:
    """Set the session's cookie: it ends with the browser, and no script and no other site gets it."""
    response.set_cookie(COOKIE, secret, path="/", secure=True, httponly=True, samesite="strict")
