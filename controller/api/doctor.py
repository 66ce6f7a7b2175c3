"""The doctor: whether intent, rule sets, Adj-RIB-Outs and kernels agree. `controller.diagnosis` reads and compares."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.diagnosis.verdict import Compared

router = APIRouter(prefix="/api/v1/doctor", tags=["doctor"], dependencies=[Operator])


class Difference(BaseModel):
    """One difference from the intent, its place, and a sentence about it. `kind` is one of those in
    `docs/reference/doctor.md`, and `remedy` says how to remove it."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    where: str
    subject: str
    expected: str
    found: str
    text: str
    remedy: str


class Diagnosis(BaseModel):
    """The result of a comparison; `ok` if there is no difference. `differences` has at most 1,000 of each kind, and
    `counts` the numbers of all by kind. `replica` is the controller that compared; `leader` the one that does the
    background work, null if none does at the moment. `unconsented` are endpoints held back until their tenants consent,
    `unmanaged` cloudlets whose PE has no agent, so that only its sessions and routes are compared, and `uncompared`
    sentences about tables with too many routes: all three are no faults."""

    model_config = ConfigDict(from_attributes=True)

    ok: bool
    replica: str
    leader: str | None
    checked: Compared
    differences: list[Difference]
    counts: dict[str, int]
    unconsented: list[str] = Field(default_factory=list)
    unmanaged: list[str] = Field(default_factory=list)
    uncompared: list[str] = Field(default_factory=list)


@router.get("", responses=errors(), summary="Compare everything")
async def diagnose(region: Running) -> Diagnosis:
    """Read everything from every route server, and compare it and the agents' last reports with the intent. Requests
    that come while a comparison is at work share the next one."""
    return Diagnosis.model_validate(await region.diagnosis.examination.result())
