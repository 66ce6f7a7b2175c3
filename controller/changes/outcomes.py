"""The effect of a change, in the form that its caller receives."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from controller.core import interruptions
from controller.core.plans import Plan
from controller.wire.rulesets import Receipt


class AgentOutcome(BaseModel):
    """Whether a concerned cloudlet's agent has shown that its kernel agrees, and how many milliseconds after the
    call."""

    cloudlet: str
    confirmed: bool
    after_ms: float | None = None


class Membership(BaseModel):
    """An endpoint that joins or leaves a pool."""

    vcp: str
    endpoint: str


class Absentee(Membership):
    """An endpoint that the policy wants in a pool, or in a pool of the family, and that is not in it. `why` is a
    sentence."""

    why: str


class PoolSplit(BaseModel):
    """A pool that splits; `parts` are the pools that its members are in afterwards."""

    vcp: str
    parts: list[str]


class ChangedSetting(BaseModel):
    """A setting of the policy, by its path; a value is null where the policy does not contain it."""

    path: str
    before: str | None
    after: str | None


class PolicySteps(BaseModel):
    """The steps that a policy takes. Pools in `create` are made; those in `delete` are removed with their members.
    `adopt` names pools made over REST that come under the policy, `describe` those whose description changes. `waiting`
    and `out` are no changes: endpoints in `waiting` join when their cloudlets become active, and endpoints in `out`
    cannot be where the policy wants them."""

    create: list[str] = Field(default_factory=list)
    adopt: list[str] = Field(default_factory=list)
    describe: list[str] = Field(default_factory=list)
    delete: list[str] = Field(default_factory=list)
    join: list[Membership] = Field(default_factory=list)
    leave: list[Membership] = Field(default_factory=list)
    splits: list[PoolSplit] = Field(default_factory=list)
    settings: list[ChangedSetting] = Field(default_factory=list)
    waiting: list[Absentee] = Field(default_factory=list)
    out: list[Absentee] = Field(default_factory=list)

    @classmethod
    def of(cls, plan: Plan) -> "PolicySteps":
        """Return a plan in the form of this model."""
        return cls(
            create=[vcp.name for vcp in plan.create],
            adopt=list(plan.adopt),
            describe=[name for name, _ in plan.describe],
            delete=list(plan.delete),
            join=[Membership(vcp=vcp, endpoint=endpoint) for vcp, endpoint in plan.join],
            leave=[Membership(vcp=vcp, endpoint=endpoint) for vcp, endpoint in plan.leave],
            splits=[PoolSplit(vcp=split.vcp, parts=list(split.parts)) for split in plan.splits],
            settings=[ChangedSetting(path=s.path, before=s.before, after=s.after) for s in plan.settings],
            waiting=[Absentee(vcp=a.vcp, endpoint=a.endpoint, why=a.why) for a in plan.waiting],
            out=[Absentee(vcp=a.vcp, endpoint=a.endpoint, why=a.why) for a in plan.out],
        )

    def sentence(self) -> str:
        """Return the steps in words, for events."""
        parts = [f"{name} is made" for name in self.create] + [f"{name} is deleted" for name in self.delete]
        parts += [f"{step.endpoint} joins {step.vcp}" for step in self.join]
        parts += [f"{step.endpoint} leaves {step.vcp}" for step in self.leave]
        parts += [f"{fall.vcp} falls into {', '.join(fall.parts)}" for fall in self.splits]
        parts += [f"{one.endpoint} stays out of {one.vcp}: {one.why}" for one in self.out]
        return "; ".join(parts)


class Interruption(BaseModel):
    """Traffic that a change interrupts at a cloudlet or an endpoint; `what` is a sentence."""

    kind: Literal["cloudlet", "endpoint"]
    name: str
    what: str

    @classmethod
    def of(cls, found: interruptions.Interruption) -> "Interruption":
        """Return an interruption in the form of this model."""
        return cls(kind=found.kind, name=found.name, what=found.what)


class ChangeResult(BaseModel):
    """The effect of a change. `in_force`: every route server confirmed it, every concerned kernel agrees, and the route
    servers have written to every other PE what the change sends it. `unreachable` names the route servers that gave no
    receipt; they are brought up to date when they are back. `behind` names the PEs that do not take what they are sent,
    and whose agent has not shown that its kernel agrees all the same. `unmanaged` are concerned cloudlets whose PE has
    no agent: what its kernel does is not known, and it has no DHCP, fences, access rules or moves. `confirm_by`: the
    change is on trial, and is rolled back everywhere at that time unless it is confirmed. `followed`: the steps that
    the policy in force adds, in the same change. `interrupted`: the traffic of cloudlets and endpoints that the change
    interrupts, because it alters or removes them, or takes them out of pools."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "generation": 42,
                    "in_force": True,
                    "duration_ms": 61.4,
                    "route_servers": [],
                    "unreachable": [],
                    "agents": [{"cloudlet": "c1", "confirmed": True, "after_ms": 58.9}],
                    "behind": [],
                    "unmanaged": [],
                    "dry_run": False,
                    "confirm_by": None,
                    "followed": None,
                    "interrupted": [],
                }
            ]
        }
    )

    generation: int
    in_force: bool
    duration_ms: float
    route_servers: list[Receipt] = Field(default_factory=list)
    unreachable: list[str] = Field(default_factory=list)
    agents: list[AgentOutcome] = Field(default_factory=list)
    behind: list[str] = Field(default_factory=list)
    unmanaged: list[str] = Field(default_factory=list)
    dry_run: bool = False
    confirm_by: datetime | None = None
    followed: PolicySteps | None = None
    interrupted: list[Interruption] = Field(default_factory=list)
