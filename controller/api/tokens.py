"""API tokens: the credentials of users and programs for this API."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Name, NamePath
from controller.core.clock import now
from controller.core.roles import Role
from controller.db import tokens as table
from controller.db.tokens import TokenRow

router = APIRouter(prefix="/api/v1/tokens", tags=["tokens"], dependencies=[Operator])

DAY = 86_400
EXAMPLE: JsonDict = {"name": "dashboard", "role": "viewer", "seconds": 30 * DAY}


class NewToken(Body):
    """A token to create. A name is used only once, even after its token is gone. `tenant` goes with the role `tenant`
    only."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Name
    role: Role
    tenant: Name | None = None
    seconds: Annotated[int, Field(ge=1, le=366 * DAY, description="How long it is good for.")] = 30 * DAY


class Token(BaseModel):
    """An API token. `expired` and `revoked` tokens are not accepted, but stay listed, so that audit entries can be
    traced. `used_at` is the time of the last request with it, to some ten minutes; null if there was none."""

    name: str
    role: Role
    tenant: str | None
    state: Literal["good", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


class MadeToken(Token):
    """A new token. The secret is shown only here; a repetition by Idempotency-Key shows null."""

    token: str | None


@router.post("", status_code=201, responses=errors(409), summary="Make an API token")
async def create(body: NewToken, region: Running) -> MadeToken:
    """Create a token. The database stores only a digest of its secret."""
    row, secret = await region.auth.tokens.make(body.name, body.role, body.seconds, body.tenant)
    return MadeToken(**_shown(row).model_dump(), token=secret)


@router.get("", responses=errors(), summary="List API tokens")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Token]:
    """Return tokens, sorted by name, without their secrets."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1)
    return pages.page(rows, limit, lambda row: row.name, _shown)


@router.delete("/{name}", status_code=204, responses=errors(404, 409), summary="Revoke an API token")
async def revoke(name: NamePath, region: Running) -> None:
    """Revoke a token at once, at all controllers of the region; the token's open streams end too."""
    await region.auth.tokens.revoke(name)


def _shown(row: TokenRow) -> Token:
    state: Literal["good", "expired", "revoked"] = "good" if row.good(now()) else "expired"
    return Token(
        name=row.name,
        role=Role(row.role),
        tenant=row.tenant,
        state="revoked" if row.revoked_at else state,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )
