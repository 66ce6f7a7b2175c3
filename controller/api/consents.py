"""Consent of tenants to their endpoints. The policy says which tenants must consent. A tenant whose consent is not
required may consent in advance."""

import asyncio
from contextlib import suppress
from contextvars import Context

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api.access import Calling, Operator, Running
from controller.api.openapi import errors
from controller.api.types import NamePath
from controller.changes.flow import Edit
from controller.changes.outcomes import ChangeResult
from controller.core import consents
from controller.core.intent import Intent
from controller.core.refusals import Refused
from controller.core.roles import Caller
from controller.core.trials import OnTrial
from controller.db import events
from controller.region import Region

router = APIRouter(prefix="/api/v1/endpoints/{name}/consent", tags=["consents"], dependencies=[Operator])


@router.post("", status_code=201, responses=errors(404, 409), summary="Consent to an endpoint")
async def give(name: NamePath, region: Running, caller: Calling) -> ChangeResult:
    """Consent to an endpoint with a token of its tenant. The endpoint comes into force, and joins the pools where the
    policy wants it; the answer is the same as for a join. An admin can consent in the tenant's name, and the record
    says so."""
    return await _change(region, name, caller, "given", lambda intent: consents.give(intent, name, caller))


@router.delete("", responses=errors(404, 409), summary="Withdraw the consent to an endpoint")
async def withdraw(name: NamePath, region: Running, caller: Calling) -> ChangeResult:
    """Withdraw the consent. If the tenant must consent, the endpoint leaves all pools and is held back. A change on
    trial is rolled back first, because no change can follow it before its end, and a tenant need not wait for that."""
    while True:
        try:
            return await _change(region, name, caller, "withdrawn", lambda intent: consents.withdraw(intent, name))
        except OnTrial as there:
            await _end(region, there.trial.generation, f"the consent to {name} is withdrawn")


async def _change(region: Region, name: str, caller: Caller, done: str, edit: Edit) -> ChangeResult:
    async def also(session: AsyncSession, intent: Intent) -> None:
        endpoint = intent.endpoints[name]
        who = consents.signature(caller, endpoint)
        text = f"consent of tenant {endpoint.tenant} to {name} was {done} by {who}"
        await events.add(session, f"consent-{done}", name, text, tenant=endpoint.tenant, by=who)

    return await region.changes.flow.apply(edit, f"consent to {name} {done}", also)


async def _end(region: Region, trial: int, why: str) -> None:
    """Roll the trial back in the controller's name: the request is about the consent alone."""
    with suppress(Refused):  # another request was faster
        await asyncio.create_task(region.changes.flow.retract(trial, why), context=Context())
