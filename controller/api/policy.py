"""Policy: check a file, plan its effects, apply it, show the policy in force and its drift."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from controller.api.access import Calling, Operator, Running
from controller.api.applying import Application, Terms, refuse_failing
from controller.api.based_on import etag
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.errors import of_place
from controller.api.etags import ETAG, IfMatch
from controller.api.filters import FilterChange, filtered
from controller.api.openapi import errors
from controller.api.revisions import TextInForce, in_force
from controller.api.texts import AllowDisconnect, FileName, Planned, body, text_of
from controller.changes.outcomes import ChangeResult, PolicySteps
from controller.core.policy import Policy, parse
from controller.core.promises import Outcome, Result
from controller.db.policies import POLICIES
from controller.region import Region
from controller.runtime.problems import FieldError

router = APIRouter(prefix="/api/v1/policy", tags=["policy"], dependencies=[Operator])

Strict = Annotated[bool, Query(description="Refuse what is only warned of.")]
HoldBack = Annotated[bool, Query(description="Even if endpoints are held back to which no tenant has consented.")]
CountConsented = Annotated[bool, Query(description="These count as consented to: their tenants have said so before.")]
EXAMPLE = "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan, c2-lan]\n"
BODY = body("policy", "pool", EXAMPLE)


class PolicyTest(BaseModel):
    """A test inside a policy, and its result. `said` has its place in the file."""

    name: str
    outcome: Outcome
    expected: str
    got: str
    why: list[str]
    said: FieldError


class TestedPolicy(BaseModel):
    """The results of a policy's tests; `ok` if no test fails. Skipped tests need data that does not exist."""

    ok: bool
    tests: list[PolicyTest]


class CheckedPolicy(BaseModel):
    """A policy without errors, the changes that it would make, and warnings that need attention."""

    ok: bool = True
    plan: PolicySteps
    warnings: list[FieldError]


class CutOff(BaseModel):
    """A device that would lose its VM: the endpoints where the two have leases, and the reason. `rule` is the access
    rule of `vcp` that would drop their traffic. Without one, `vcp` is the pool that joins the two now, and no pool
    would."""

    device: str
    md: str
    vm: str
    vcp: str
    rule: str | None
    why: str
    at: FieldError


class StruckLease(BaseModel):
    """A lease that the new address plan would not give."""

    endpoint: str
    device: str
    kind: str
    address: str
    why: str


class PolicyPlan(CheckedPolicy):
    """The effects of a policy. `planned` is the plan's mark, and `etag` that of the policy in force, which is
    `revision`: an application with both does exactly this or nothing. `change` lists the routes that would be sent to
    each PE. An application is refused while `disconnects` has devices, unless it allows them; and while `unconsented`
    has endpoints in force whose tenants must consent from now on, unless it holds them back or counts them as
    consented. `filters` are the filters that follow from access rules. The mark covers all this except `tests` and the
    routes in `change`."""

    revision: int | None
    etag: str
    generation: int
    planned: str
    disconnects: list[CutOff]
    unconsented: list[str]
    leases: list[StruckLease]
    tests: list[PolicyTest]
    filters: list[FilterChange]
    change: ChangeResult


class AppliedPolicy(ChangeResult):
    """A policy in force, its revision and entity tag, and its changes. A rehearsal makes no revision."""

    revision: int | None
    etag: str
    plan: PolicySteps
    warnings: list[FieldError]
    disconnects: list[CutOff]


class PolicyInForce(TextInForce):
    """The policy that was applied last; empty before the first. `back_to` is the revision that a rollback without a
    revision goes to, null if there is none. With `etag` as `If-Match`, a rollback goes back from this policy or does
    nothing."""


class PolicyDrift(BaseModel):
    """The differences between the region and the policy in force: the changes that applying it again would make.
    `failing` are tests inside it that fail now, `trouble` are the reasons why a later revision cannot be read."""

    drift: bool
    revision: int | None
    plan: PolicySteps
    failing: list[FieldError]
    trouble: list[FieldError]


@router.get("", responses=errors() | {200: {"headers": ETAG}}, summary="Show the policy in force")
async def show(region: Running, response: Response) -> PolicyInForce:
    """Return the policy in force, word for word as it was applied."""
    found = PolicyInForce(**await in_force(region.database, POLICIES))
    response.headers["ETag"] = found.etag
    return found


@router.post("/check", responses=errors(415), openapi_extra=BODY, summary="Check a policy")
async def check(
    request: Request, region: Running, filename: FileName = "policy.yaml", strict: Strict = False
) -> CheckedPolicy:
    """Return the changes that a policy would make; changes nothing. Errors, and failing tests inside, name file, line
    and column."""
    application = await _application(request, region, filename, Terms(strict=strict))
    refuse_failing(await application.foresee(region.database))
    return CheckedPolicy(plan=PolicySteps.of(application.look.result.plan), warnings=_warnings(application))


@router.post("/test", responses=errors(415), openapi_extra=BODY, summary="Run the tests inside a policy")
async def test(request: Request, region: Running, filename: FileName = "policy.yaml") -> TestedPolicy:
    """Run the tests against the region as the policy would make it. A failing test is an answer, not an error."""
    application = await _application(request, region, filename, Terms())
    look = await application.foresee(region.database)
    return TestedPolicy(ok=not any(found.refuses for found in look.tests), tests=[_test(found) for found in look.tests])


@router.post("/plan", responses=errors(409, 415), openapi_extra=BODY, summary="Plan a policy")
async def plan(
    request: Request,
    region: Running,
    caller: Calling,
    filename: FileName = "policy.yaml",
    strict: Strict = False,
    count_consented: CountConsented = False,
) -> PolicyPlan:
    """Return the effects that a policy would have, those at the route servers included; changes nothing."""
    terms = Terms(strict=strict, count_consented=count_consented, by=caller.name)
    application = await _application(request, region, filename, terms)
    await application.foresee(region.database)
    change = await region.changes.flow.apply(
        application.edit, f"plan policy {filename}", guard=application.rehearsing, dry_run=True
    )
    look = application.look
    return PolicyPlan(
        plan=PolicySteps.of(look.result.plan),
        warnings=_warnings(application),
        revision=look.in_force.row.id if look.in_force.row else None,
        etag=etag(look.in_force.row),
        generation=look.before.generation,
        planned=await asyncio.to_thread(lambda: look.planned),
        disconnects=_disconnects(application),
        unconsented=list(look.unconsented),
        leases=[StruckLease(**vars(hit.lease), why=hit.why) for hit in look.hits],
        tests=[_test(found) for found in look.tests],
        filters=filtered(look.effects.filters),
        change=change,
    )


@router.post("/apply", responses=errors(409, 412, 415), openapi_extra=BODY, summary="Apply a policy")
async def apply(
    request: Request,
    region: Running,
    caller: Calling,
    filename: FileName = "policy.yaml",
    strict: Strict = False,
    allow_disconnect: AllowDisconnect = False,
    hold_back: HoldBack = False,
    count_consented: CountConsented = False,
    planned: Planned = None,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> AppliedPolicy:
    """Apply a policy, all of it in one change, or nothing. Answers when it is in force, as a join does. `If-Match` is
    the entity tag of the policy that this one is based on, from its plan: if another policy has come into force since,
    the answer is 412 with the difference."""
    terms = Terms(strict, allow_disconnect, planned, if_match, None, hold_back, count_consented, caller.name)
    application = await _application(request, region, filename, terms)
    return await put_in_force(application, region, f"apply policy {filename}", confirm_within, dry_run=dry_run)


@router.get("/drift", responses=errors(), summary="Show what has drifted")
async def drift(region: Running) -> PolicyDrift:
    """Compare the region with the policy in force."""
    found = await region.changes.drift.look()
    return PolicyDrift(
        drift=found.moves > 0,
        revision=found.in_force.row.id if found.in_force.row else None,
        plan=PolicySteps.of(found.plan),
        failing=[of_place(error) for error in found.failing],
        trouble=[of_place(error) for error in found.in_force.trouble],
    )


async def put_in_force(
    application: Application, region: Region, cause: str, within: int | None, *, dry_run: bool
) -> AppliedPolicy:
    """Apply a policy, or rehearse it with all reasons to refuse it."""
    await application.foresee(region.database)
    done = await region.changes.flow.apply(
        application.edit, cause, application.record, application.applying, within, dry_run=dry_run
    )
    return AppliedPolicy(
        **done.model_dump(),
        revision=application.row.id if application.row else None,
        etag=etag(application.row),
        plan=PolicySteps.of(application.look.result.plan),
        warnings=_warnings(application),
        disconnects=_disconnects(application),
    )


async def _application(request: Request, region: Region, filename: str, terms: Terms) -> Application:
    text = await text_of(request, "policy")
    return Application(region.changes.flow, await parsed(text, filename), text, terms)


async def parsed(text: str, filename: str) -> Policy:
    """Parse a policy outside the event loop: a large hostile file may take seconds."""
    return await asyncio.to_thread(parse, text, filename)


def _warnings(application: Application) -> list[FieldError]:
    found = {*application.policy.warnings, *application.look.result.warnings}
    return [of_place(warning) for warning in sorted(found)]


def _disconnects(application: Application) -> list[CutOff]:
    found = application.look.disconnects
    return [CutOff(**vars(one.who), **vars(one.how), at=of_place(application.place(one))) for one in found]


def _test(found: Result) -> PolicyTest:
    return PolicyTest(
        name=found.name,
        outcome=found.outcome,
        expected=found.expected,
        got=found.got,
        why=list(found.why),
        said=of_place(found.said),
    )
