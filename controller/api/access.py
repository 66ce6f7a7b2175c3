"""Who may call what. Operators: everything that comes over the unix socket, and over TCP whoever has the admin token.
Agents: whoever has a cloudlet's credential, and that cloudlet's affairs only."""

import hmac
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from controller.core.intent import Cloudlet
from controller.core.tokens import digest
from controller.problems import Problem
from controller.region import Region

TRUSTED = "weft.trusted"
"""Key of an ASGI scope: set by the server on the unix socket, whose file mode is the authorisation."""

_operator = HTTPBearer(auto_error=False, scheme_name="operator", description="The admin token; over TCP only.")
_agent = HTTPBearer(auto_error=False, scheme_name="agent", description="A cloudlet's credential, from its enrolment.")

Bearer = HTTPAuthorizationCredentials | None


def _region(request: Request) -> Region:
    return cast(Region, request.app.state.region)


Running = Annotated[Region, Depends(_region)]


async def operator(request: Request, region: Running, bearer: Annotated[Bearer, Depends(_operator)]) -> None:
    """Lets an operator through."""
    if request.scope.get(TRUSTED) is True:
        return
    if region.admin_token is None:
        raise Problem(403, "The operator API is served on the unix socket only: no admin token is set.")
    given = bearer.credentials if bearer else ""
    if not hmac.compare_digest(digest(given), digest(region.admin_token)):
        raise _unauthorised("The admin token is missing or wrong.")


async def agent(region: Running, bearer: Annotated[Bearer, Depends(_agent)]) -> Cloudlet:
    """The cloudlet whose credential this is. Looked up by digest, so timing tells nothing about the credential."""
    name = region.intent.credentials.get(digest(bearer.credentials)) if bearer else None
    if name is None:
        raise _unauthorised("The credential is missing or not valid (any longer).")
    return region.intent.cloudlets[name]


def _unauthorised(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": "Bearer"})


Operator = Depends(operator)
Agent = Annotated[Cloudlet, Depends(agent)]
