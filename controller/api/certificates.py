"""Certificates of cloudlets, and the authority that issues them."""

from datetime import datetime
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
from controller.db.certificates import CertificateRow, Standing, Which
from controller.trust.authority import Reason

router = APIRouter(prefix="/api/v1", tags=["cloudlets"], dependencies=[Operator])

Serial = Annotated[str, Path(pattern=r"^[0-9a-f]{40}$", description="40 hexadecimal digits.")]
Former = Annotated[
    bool, Query(description="Only those that are good, and not from the key that issues now: they end with a rotation.")
]
OfStanding = Annotated[Standing | None, Query(description="Only those that are so now.")]
EXAMPLE: JsonDict = {"reason": "keyCompromise"}


class Certificate(BaseModel):
    """A cloudlet's certificate. `fingerprint` is the SHA-256 of its DER form, `issuer` that of the key that signed it
    (null: an earlier release issued it). `reason` is the reason for its revocation (RFC 5280, section 5.3.1)."""

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
    """The reason for a revocation."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    reason: Reason = Reason.COMPROMISED


class Authority(BaseModel):
    """The authority that issues certificates. `chain` is the intermediate and the root, `crl` the present revocation
    list, both PEM. `issuer` is the SHA-256 of the intermediate's key, as in certificates. `seconds` is the lifetime of
    certificates; `expires_at` is the end of the intermediate's own."""

    chain: str
    issuer: str
    crl: str
    seconds: int
    expires_at: datetime


@router.get("/certificates", responses=errors(404), summary="List certificates")
async def index(
    region: Running,
    cloudlet: PastCloudletFilter = None,
    standing: OfStanding = None,
    former: Former = False,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Certificate]:
    """Return certificates in the order of their issue. Certificates that expired a week ago are deleted."""
    if former and region.identity.certificates.issuer is None:
        raise missing("authority", "certificates")
    which = Which(cloudlet, standing, region.identity.certificates.issuer if former else None)
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_number(cursor), limit + 1, which)
    return pages.page(rows, limit, lambda row: row.id, _shown)


@router.get("/certificates/{serial}", responses=errors(404), summary="Show a certificate")
async def show(serial: Serial, region: Running) -> Certificate:
    """Return a certificate with its present standing."""
    return _shown(await region.identity.certificates.get(serial))


@router.post("/certificates/{serial}/revoke", responses=errors(404, 409), summary="Revoke a certificate")
async def revoke(serial: Serial, region: Running, body: Revocation | None = None) -> Certificate:
    """Revoke a certificate. An attacker with its key also has the cloudlet's credential, so the credential and all
    other certificates of the cloudlet end too, and the controller cuts the agent's session. The agent enrols again with
    a new token."""
    row = await region.identity.certificates.revoke(serial, (body or Revocation()).reason)
    region.identity.revocations.changed()
    return _shown(row)


@router.get("/authority", responses=errors(404, 503), summary="Show the authority")
async def authority(region: Running) -> Authority:
    """Return the authority that verifies certificates. 404: this controller issues none."""
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
    return Certificate(
        serial=row.serial,
        cloudlet=row.cloudlet,
        standing=row.standing(now()),
        not_before=row.not_before,
        not_after=row.not_after,
        fingerprint=row.fingerprint,
        issuer=row.issuer,
        revoked_at=row.revoked_at,
        reason=Reason(row.reason) if row.reason else None,
    )
