"""Certificates of cloudlets, and the authority that issues them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict
from pydantic.config import JsonDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import PastCloudletFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body
from controller.core.clock import now
from controller.core.refusals import missing
from controller.db import certificates as table
from controller.db.certificates import CertificateRow
from controller.trust.authority import Reason

router = APIRouter(prefix="/api/v1", tags=["cloudlets"], dependencies=[Operator])

Serial = Annotated[str, Path(pattern=r"^[0-9a-f]{40}$", description="40 hexadecimal digits.")]
Former = Annotated[
    bool, Query(description="Only those that are good, and not from the key that issues now: they end with a rotation.")
]
EXAMPLE: JsonDict = {"reason": "keyCompromise"}


class Standing(StrEnum):
    """What a certificate is good for now."""

    GOOD = "good"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Certificate(BaseModel):
    """`fingerprint` is the SHA-256 of its DER form, `issuer` that of the key that it is signed with (null: an earlier
    release issued it). `reason` is why it was revoked (RFC 5280, section 5.3.1)."""

    serial: str
    cloudlet: str
    standing: Standing
    not_before: datetime
    not_after: datetime
    fingerprint: str
    issuer: str | None
    revoked_at: datetime | None
    reason: Reason | None


class Revocation(Body):
    """Why a certificate is revoked."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    reason: Reason = Reason.COMPROMISED


class Authority(BaseModel):
    """`chain` is the intermediate and the root, `crl` the revocation list as it is now, both PEM. `issuer` is the
    SHA-256 of the intermediate's key, as in certificates; `seconds` is what these are good for, `expires_at` when the
    intermediate itself has to be renewed by."""

    chain: str
    issuer: str
    crl: str
    seconds: int
    expires_at: datetime


@router.get("/certificates", responses=errors(404), summary="List certificates")
async def index(
    region: Running,
    cloudlet: PastCloudletFilter = None,
    former: Former = False,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Certificate]:
    """In the order in which they were issued. What expired a week ago is forgotten."""
    if former and region.identity.certificates.issuer is None:
        raise missing("authority", "certificates")
    issuer = region.identity.certificates.issuer if former else None
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_number(cursor), limit + 1, cloudlet, issuer)
    return pages.page(rows, limit, lambda row: row.id, _shown)


@router.get("/certificates/{serial}", responses=errors(404), summary="Show a certificate")
async def show(serial: Serial, region: Running) -> Certificate:
    """As it stands now."""
    return _shown(await region.identity.certificates.get(serial))


@router.post("/certificates/{serial}/revoke", responses=errors(404, 409), summary="Revoke a certificate")
async def revoke(serial: Serial, region: Running, body: Revocation | None = None) -> Certificate:
    """Who has its key has its cloudlet's credential as well: that ends too, with every other certificate of the
    cloudlet, and the agent's session is cut. The agent enrols again with a new token."""
    row = await region.identity.certificates.revoke(serial, (body or Revocation()).reason)
    region.identity.revocations.changed()
    return _shown(row)


@router.get("/authority", responses=errors(404, 503), summary="Show the authority")
async def authority(region: Running) -> Authority:
    """What certificates are verified with. 404: none are issued here."""
    certificates = region.identity.certificates
    if certificates.authority is None:
        raise missing("authority", "certificates")
    return Authority(
        chain=certificates.authority.chain,
        issuer=certificates.issuer or "",
        crl=await certificates.crl(),
        seconds=int(certificates.lifetime.total_seconds()),
        expires_at=certificates.authority.not_after,
    )


def _shown(row: CertificateRow) -> Certificate:
    good = Standing.GOOD if row.not_after > now() else Standing.EXPIRED
    return Certificate(
        serial=row.serial,
        cloudlet=row.cloudlet,
        standing=Standing.REVOKED if row.revoked_at else good,
        not_before=row.not_before,
        not_after=row.not_after,
        fingerprint=row.fingerprint,
        issuer=row.issuer,
        revoked_at=row.revoked_at,
        reason=Reason(row.reason) if row.reason else None,
    )
