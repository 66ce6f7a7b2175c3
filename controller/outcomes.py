"""What a change did, as its caller is told."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from controller.wire.rulesets import Receipt


class AgentOutcome(BaseModel):
    """Whether a concerned cloudlet's kernel was seen to agree, and how many milliseconds after the call."""

    cloudlet: str
    confirmed: bool
    after_ms: float | None = None


class ChangeResult(BaseModel):
    """What a change did. `in_force`: every route server confirmed it, every concerned kernel agrees, and every other PE
    was written what the change sends it. `unreachable` names the route servers that gave no receipt; they are brought
    up to date when they are back. `behind` names the PEs that do not take what they are sent, and whose agent has not
    shown that its kernel agrees all the same. `confirm_by`: the change is on trial, and is rolled back everywhere at
    that time unless it is confirmed."""

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
                    "dry_run": False,
                    "confirm_by": None,
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
    dry_run: bool = False
    confirm_by: datetime | None = None
