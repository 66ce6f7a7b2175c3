"""Access to the API. Operators: all requests over the unix socket, and requests over TCP with the admin token, an API
token or an issuer's token whose role allows them (`core/roles.py`). Agents: requests with a cloudlet's credential,
about that cloudlet only."""

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from starlette.datastructures import Headers
from starlette.types import Scope

from controller.auth.audit_context import let_in
from controller.auth.jwt import BadToken, looks_like
from controller.auth.oidc_issuer import Unreachable
from controller.auth.oidc_users import OidcUsers
from controller.auth.sessions import SESSION, UI, ShownSession
from controller.core.intent import Cloudlet
from controller.core.oidc_users import NoRole
from controller.core.refusals import missing
from controller.core.roles import ADMIN, SOCKET, Caller, Role, endpoints_named, lacking
from controller.core.tokens import digest
from controller.identity.tls_peer import TLS_PEER, TlsPeer
from controller.region import Region
from controller.runtime.problems import Problem
from controller.wire.log_fields import note

TRUSTED = "weft.trusted"
"""Key of an ASGI scope, set by the server on the unix socket. The mode of the socket file is the authorisation."""

AGENTS = "/api/v1/agent/"
"""Prefix of the paths for agents."""

BIRDWATCHER = "/birdwatcher/"
"""Prefix of the paths for looking glasses, whose clients send no bearer token."""

NO_CREDENTIAL = "The credential is missing or not valid (any longer)."

SIGN_IN = "Sign in, or send an API token."
SESSION_OVER = "The session is over, or its token is not valid any longer: sign in again."

_operator = HTTPBearer(
    auto_error=False, scheme_name="operator", description="An API token, or one of the issuer; over TCP only."
)
_agent = HTTPBearer(auto_error=False, scheme_name="agent", description="A cloudlet's credential, from its enrolment.")

Bearer = HTTPAuthorizationCredentials | None


async def _region(request: Request) -> Region:  # async: FastAPI runs others in threads
    return cast(Region, request.app.state.region)


Running = Annotated[Region, Depends(_region)]


async def caller(scope: Scope, region: Region, secret: str | None) -> Caller:
    """Return the operator with this bearer token, or with the session of the scope. Raises Problem if there is none."""
    if scope.get(TRUSTED) is True:
        return SOCKET
    if (shown := scope.get(SESSION)) is not None:
        if (user := await region.auth.sessions.caller(cast(ShownSession, shown))) is None:
            raise unauthorised(SESSION_OVER)
        return user
    if secret is None and scope.get(UI) is True:
        raise unauthorised(SIGN_IN)  # whatever else opens the API: a browser asks for a sign-in
    return await holder(region, secret)


async def holder(region: Region, secret: str | None) -> Caller:
    """Return the operator who has this token. Raises Problem if there is none."""
    given = secret or ""
    if region.auth.admin_token is not None and hmac.compare_digest(digest(given), digest(region.auth.admin_token)):
        return ADMIN
    if region.auth.oidc_users is not None and looks_like(given):
        return await _person(region.auth.oidc_users, given)
    if given and (found := await region.auth.tokens.caller(given)):
        return found
    if region.auth.admin_token is None:
        why = "no admin token is set, and this is no API token that is good now"
        raise Problem(403, f"The operator API is served on the unix socket only: {why}.")
    raise unauthorised("The token is missing, wrong, expired or revoked.")


def bearer(scope: Scope) -> str | None:
    """Return the bearer token in a request's head (RFC 6750). Looking glasses send it as a password (RFC 7617)."""
    kind, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
    if kind.lower() == "basic" and scope["path"].startswith(BIRDWATCHER):
        return _password(secret)
    return secret if kind.lower() == "bearer" and secret else None


def presented(scope: Scope) -> str | None:
    """Return the secret by which a request's head says who calls: a session's, or a bearer token."""
    shown: ShownSession | None = scope.get(SESSION)
    return bearer(scope) if shown is None else shown.secret


def _password(credentials: str) -> str | None:
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2] or None
    except (binascii.Error, UnicodeError):
        return None


async def judge(scope: Scope, region: Region) -> str:
    """Return the caller's name, by the head alone. Raises Problem if the caller is unknown, and Unavailable."""
    secret = bearer(scope)
    if not scope["path"].startswith(AGENTS):
        return (await caller(scope, region, secret)).name
    if not secret or (name := region.intent.credentials.get(digest(secret))) is None:
        raise unauthorised(NO_CREDENTIAL)
    return f"agent:{name}"


async def _person(people: OidcUsers, token: str) -> Caller:
    try:
        return await people.caller(token)
    except BadToken as bad:
        raise unauthorised(_sentence(bad)) from None
    except NoRole as none:
        raise Problem(403, f"{none}.") from None
    except Unreachable as away:
        raise Problem(503, _sentence(away), headers={"Retry-After": "10"}) from None


def _sentence(error: Exception) -> str:
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}."


async def operator(request: Request, region: Running, bearer: Annotated[Bearer, Depends(_operator)]) -> Caller:
    """Admit an operator whose role allows the request. Raises Problem."""
    return await _admitted(request, region, bearer.credentials if bearer else None)


async def reader(request: Request, region: Running) -> Caller:
    """Admit an operator like `operator`, whose token may also be a password. Raises Problem."""
    return await _admitted(request, region, bearer(request.scope))


async def _admitted(request: Request, region: Region, secret: str | None) -> Caller:
    found = await caller(request.scope, region, secret)
    route = request.scope["route"]
    let_in(found.name, route.status_code or 200)
    note(caller=found.name)
    if reason := lacking(found.role, request.method, route.path, route.tags):
        raise Problem(403, f"{found.name}: {reason}.")
    if found.role is Role.TENANT:
        _keep_to_own(request, region, found)
    return found


def _keep_to_own(request: Request, region: Region, tenant: Caller) -> None:
    """Hide endpoints of others from a tenant: they do not exist for it. Raises Problem and Refused."""
    path, query = request.scope["route"].path, request.query_params.multi_items()
    named = endpoints_named(request.method, path, request.path_params, query)
    if named is None:
        raise Problem(
            403, f"{tenant.name}: a tenant has to say which endpoint of its own this is about: ?endpoint=NAME."
        )
    for name in named:
        there = region.intent.endpoints.get(name)
        if there is None or tenant.tenant is None or there.tenant != tenant.tenant:
            raise missing("endpoint", name)


async def _still(
    request: Request, region: Running, bearer: Annotated[Bearer, Depends(_operator)]
) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        try:
            await caller(request.scope, region, bearer.credentials if bearer else None)
        except Problem:
            return False
        return True

    return look


Still = Annotated[Callable[[], Awaitable[bool]], Depends(_still)]
"""A check whether an admitted operator would still be admitted now, for streams."""


async def newcomer(region: Running, bearer: Annotated[Bearer, Depends(_agent)]) -> Cloudlet:
    """Return the cloudlet with this credential. The lookup is by digest, so its timing tells nothing about the
    credential."""
    name = region.intent.credentials.get(digest(bearer.credentials)) if bearer else None
    if name is None:
        raise unauthorised(NO_CREDENTIAL)
    note(cloudlet=name)
    return region.intent.cloudlets[name]


async def agent(request: Request, region: Running, cloudlet: Annotated[Cloudlet, Depends(newcomer)]) -> Cloudlet:
    """Return the cloudlet with this credential, if the connection proves the cloudlet's certificate where that is
    required."""
    await prove(request, region, cloudlet)
    return cloudlet


async def prove(request: Request, region: Region, cloudlet: Cloudlet) -> None:
    """Raise Problem unless the cloudlet's credential is valid on this connection."""
    if reason := await region.identity.proofs.reason(cloudlet, shown(request)):
        raise unauthorised(reason[0].upper() + reason[1:] + ".")


def shown(request: Request) -> TlsPeer | None:
    """Return the peer that the connection has shown; None without TLS."""
    return cast(TlsPeer | None, request.scope.get(TLS_PEER))


def unauthorised(detail: str) -> Problem:
    """Return the problem of a caller who is not known."""
    return Problem(401, detail, headers={"WWW-Authenticate": "Bearer"})


Operator = Depends(operator)
Reader = Depends(reader)
Calling = Annotated[Caller, Depends(operator)]
Agent = Annotated[Cloudlet, Depends(agent)]
Newcomer = Annotated[Cloudlet, Depends(newcomer)]
"""A caller with a cloudlet's credential, who may lack the cloudlet's certificate."""
