"""The caller, as the controller knows it."""

from datetime import datetime
from enum import StrEnum

from fastapi import APIRouter, Request
from pydantic import BaseModel

from controller.api.access import Calling, Running
from controller.api.openapi import errors
from controller.auth.sessions import SESSION
from controller.core.roles import ADMIN, SOCKET, Caller, Role
from controller.region import Region

router = APIRouter(prefix="/api/v1/whoami", tags=["health"])


class CallerKind(StrEnum):
    """The proof of a caller: the file mode of the unix socket, a token, or the OIDC issuer's signature."""

    SOCKET = "unix-socket"
    ADMIN = "admin-token"
    TOKEN = "token"
    OIDC = "oidc"


class Whoami(BaseModel):
    """The caller. `name` is the one in the audit log, `tenant` that of the role `tenant`. `session`: a browser's
    session stands for the caller, and ends after `idle_seconds` without an act of its user. `until` is the end of the
    session or token; null if none is known. `asn` is the region's AS number."""

    name: str
    role: Role
    tenant: str | None
    how: CallerKind
    session: bool
    until: datetime | None
    idle_seconds: int | None
    replica: str
    asn: int


@router.get("", responses=errors(), summary="Show the caller")
async def show(request: Request, region: Running, caller: Calling) -> Whoami:
    """Return the caller's name, role and tenant, and how long that holds."""
    return described(caller, region, session=request.scope.get(SESSION) is not None)


def described(caller: Caller, region: Region, *, session: bool = True) -> Whoami:
    """Return a caller for the answer."""
    return Whoami(
        name=caller.name,
        role=caller.role,
        tenant=caller.tenant,
        how=_how(caller),
        session=session,
        until=caller.until,
        idle_seconds=int(region.auth.sessions.idle.total_seconds()) if session else None,
        replica=region.replication.replicas.name,
        asn=region.fabric.asn,
    )


def _how(caller: Caller) -> CallerKind:
    if caller.name == SOCKET.name:
        return CallerKind.SOCKET
    if caller.name == ADMIN.name:
        return CallerKind.ADMIN
    return CallerKind.OIDC if caller.name.startswith("oidc:") else CallerKind.TOKEN
