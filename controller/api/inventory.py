"""The inventory: check a file, plan its effects, apply it, show the one in force, its drift, and what there is."""

import asyncio
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from controller.api.access import Calling, Operator, Running
from controller.api.based_on import etag
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.cloudlets import pinned
from controller.api.errors import of_place
from controller.api.etags import ETAG, IfMatch
from controller.api.inventory_applying import Application, Terms
from controller.api.openapi import errors
from controller.api.policy import CutOff
from controller.api.revisions import TextInForce, in_force
from controller.api.texts import AllowDisconnect, FileName, Planned, body, text_of
from controller.changes.inventory_steps import InventorySteps
from controller.changes.outcomes import ChangeResult
from controller.core import inventories
from controller.core.inventory import Inventory, parse
from controller.core.refusals import conflict
from controller.core.yaml_document.writing import CannotBeWritten
from controller.db import holdings
from controller.db.inventories import INVENTORIES
from controller.region import Region
from controller.runtime.problems import FieldError

router = APIRouter(prefix="/api/v1/inventory", tags=["inventory"], dependencies=[Operator])

TokenSeconds = Annotated[int, Query(ge=1, le=30 * 86400, description="How long new tokens are good for.")]
EXAMPLE = (
    "apiVersion: weft/inventory/v1\n"
    "cloudlets:\n  c1: {pe: vpls, vtep: 192.0.2.1}\n"
    "endpoints:\n  c1-lan: {cloudlet: c1, prefix: 10.1.0.0/24, ports: ['md*']}\n"
)
BODY = body("inventory", "lan", EXAMPLE)


class CheckedInventory(BaseModel):
    """An inventory without errors, and the steps that it would take. Warnings are about differences that stay."""

    ok: bool = True
    plan: InventorySteps
    warnings: list[FieldError]


class PlannedInventory(CheckedInventory):
    """The effects of an inventory. `planned` is the plan's mark, and `etag` that of the inventory in force, which is
    `revision`: an application with both does exactly this or nothing. `change` lists the routes that would be sent to
    each PE, and whose traffic is interrupted. An application is refused while `disconnects` has devices, unless it
    allows them."""

    revision: int | None
    etag: str
    generation: int
    planned: str
    disconnects: list[CutOff]
    change: ChangeResult


class AppliedInventory(ChangeResult):
    """An inventory in force, its revision and entity tag, and its changes. A rehearsal makes no revision. `tokens` are
    the one-time tokens of new cloudlets, by name, good until `tokens_expire_at`. They are shown only here; a repetition
    by Idempotency-Key shows null."""

    revision: int | None
    etag: str
    plan: InventorySteps
    warnings: list[FieldError]
    disconnects: list[CutOff]
    tokens: dict[str, str] | None = Field(default_factory=dict)
    tokens_expire_at: datetime | None = None


class InventoryInForce(TextInForce):
    """The inventory that was applied last; empty before the first. `back_to` is the revision that a rollback without a
    revision goes to, null if there is none. With `etag` as `If-Match`, a rollback goes back from this one or does
    nothing."""


class InventoryDrifted(BaseModel):
    """The differences between the region and the inventory in force: the steps that applying it again would take.
    `trouble` are the reasons why this release cannot read it."""

    drift: bool
    revision: int | None
    plan: InventorySteps
    trouble: list[FieldError]


class ExportedInventory(BaseModel):
    """An inventory of all that the region has. Applied, it changes nothing."""

    text: str


@router.get("", responses=errors() | {200: {"headers": ETAG}}, summary="Show the inventory in force")
async def show(region: Running, response: Response) -> InventoryInForce:
    """Return the inventory that was applied last, word for word."""
    found = InventoryInForce(**await in_force(region.database, INVENTORIES))
    response.headers["ETag"] = found.etag
    return found


@router.post("/check", responses=errors(409, 415), openapi_extra=BODY, summary="Check an inventory")
async def check(request: Request, region: Running, filename: FileName = "inventory.yaml") -> CheckedInventory:
    """Return the steps that an inventory would take; changes nothing. Errors name file, line and column."""
    application = await _application(request, region, filename, Terms())
    await application.foresee()
    await application.rehearse()
    return CheckedInventory(plan=InventorySteps.of(application.look.plan), warnings=_warnings(application))


@router.post("/plan", responses=errors(409, 415), openapi_extra=BODY, summary="Plan an inventory")
async def plan(
    request: Request, region: Running, caller: Calling, filename: FileName = "inventory.yaml"
) -> PlannedInventory:
    """Return the effects that an inventory would have, those at the route servers included; changes nothing."""
    application = await _application(request, region, filename, Terms(by=caller.name))
    await application.foresee()
    await application.rehearse()
    change = await region.changes.flow.apply(
        application.edit, f"plan inventory {filename}", guard=application.looking, dry_run=True
    )
    look = application.look
    return PlannedInventory(
        plan=InventorySteps.of(look.plan),
        warnings=_warnings(application),
        revision=look.last.row.id if look.last.row else None,
        etag=etag(look.last.row),
        generation=look.before.generation,
        planned=await asyncio.to_thread(lambda: look.planned),
        disconnects=_disconnects(application),
        change=change,
    )


@router.post("/apply", responses=errors(409, 412, 415), openapi_extra=BODY, summary="Apply an inventory")
async def apply(
    request: Request,
    region: Running,
    caller: Calling,
    filename: FileName = "inventory.yaml",
    allow_disconnect: AllowDisconnect = False,
    planned: Planned = None,
    token_seconds: TokenSeconds = 3600,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> AppliedInventory:
    """Apply an inventory, all of it in one change, or nothing. Objects that the inventory before named and this one
    does not are removed. Answers when it is in force, as a join does. `If-Match` is the entity tag of the inventory
    that this one is based on, from its plan: if another has come into force since, the answer is 412 with the
    difference. Only an inventory that alters cloudlets and endpoints can be on trial."""
    terms = Terms(allow_disconnect, planned, if_match, None, caller.name, confirm_within, token_seconds)
    application = await _application(request, region, filename, terms)
    return await put_in_force(application, region, f"apply inventory {filename}", dry_run=dry_run)


@router.get("/drift", responses=errors(), summary="Show what has drifted")
async def drift(region: Running) -> InventoryDrifted:
    """Compare the region with the inventory in force."""
    found = await region.changes.inventory_drift.look()
    return InventoryDrifted(
        drift=bool(found.plan.steps),
        revision=found.last.row.id if found.last.row else None,
        plan=InventorySteps.of(found.plan),
        trouble=[of_place(error) for error in found.last.trouble],
    )


@router.get("/export", responses=errors(409), summary="Write an inventory of all there is")
async def export(region: Running) -> ExportedInventory:
    """Return an inventory of all cloudlets, endpoints, registered devices and VMs."""
    async with region.database.read() as session:
        held = await holdings.held(session, region.intent)
    try:
        return ExportedInventory(text=await asyncio.to_thread(inventories.text, held))
    except CannotBeWritten as error:
        raise conflict(f"{error}: change it first") from None


async def put_in_force(application: Application, region: Region, cause: str, *, dry_run: bool) -> AppliedInventory:
    """Apply an inventory, or rehearse it with all reasons to refuse it."""
    await application.foresee()
    if dry_run:
        await application.rehearse()
    done = await region.changes.flow.apply(
        application.edit,
        cause,
        application.record,
        application.checking if dry_run else application.applying,
        application.terms.within,
        dry_run=dry_run,
    )
    tokens = {} if dry_run else application.tokens
    if not dry_run:
        application.told()
    return AppliedInventory(
        **done.model_dump(),
        revision=application.row.id if application.row else None,
        etag=etag(application.row),
        plan=InventorySteps.of(application.look.plan),
        warnings=_warnings(application),
        disconnects=_disconnects(application),
        tokens={name: pinned(region, token.token) for name, token in sorted(tokens.items())},
        tokens_expire_at=max((token.expires_at for token in tokens.values()), default=None),
    )


async def _application(request: Request, region: Region, filename: str, terms: Terms) -> Application:
    text = await text_of(request, "inventory")
    return Application(region, await parsed(text, filename), text, terms)


async def parsed(text: str, filename: str) -> Inventory:
    """Parse an inventory outside the event loop: a large hostile file may take seconds."""
    return await asyncio.to_thread(parse, text, filename)


def _warnings(application: Application) -> list[FieldError]:
    return [of_place(warning) for warning in sorted(application.look.plan.warnings)]


def _disconnects(application: Application) -> list[CutOff]:
    found = application.look.disconnects
    return [CutOff(**vars(one.who), **vars(one.how), at=of_place(application.place(one))) for one in found]
