"""The region in a few numbers, for an overview. They cost the same in a small region and in a large one: nothing here
looks at every row, apart from one look at each generation's intent."""

import time
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.core.clock import now
from controller.core.intent import CloudletState, Intent
from controller.db import events, generations, tunnels, usage
from controller.region import Region

router = APIRouter(prefix="/api/v1/summary", tags=["health"], dependencies=[Operator])

FRESH = 1.0
"""Seconds for which the number of connected agents is not counted again."""


class RouteServerSummary(BaseModel):
    """A route server. `error` says why it is not in step."""

    name: str
    in_step: bool
    error: str


class AgentsSummary(BaseModel):
    """Agents that are connected to this controller or another one, and those that should be."""

    connected: int
    expected: int


class DriftSummary(BaseModel):
    """The steps that applying the policy in force anew would take, and its tests that fail."""

    steps: int
    failing: int


class TrialSummary(BaseModel):
    """A change on trial: it is rolled back at `confirm_by`, unless it is confirmed before."""

    generation: int
    cause: str
    confirm_by: datetime


class AlarmsSummary(BaseModel):
    """Numbers of alarms that are on. `tunnels`: pairs of cloudlets whose tunnel is missing for too long. `filling`:
    LANs that fill up. `unconsented`: endpoints held back until their tenants consent. `unapproved`: cloudlets that wait
    for an operator's approval. `events_lost`: events that came too fast since this controller's start."""

    tunnels: int
    filling: int
    unconsented: int
    unapproved: int
    events_lost: int


class Summary(BaseModel):
    """The region in numbers. `replica` has answered, `leader` does the background work, null if none does at present.
    `drift` is the policy's as the leader last saw it, null at a replica that has not been told yet. `event` is the id
    of the latest event, to follow those after it. `at` is this controller's time."""

    at: datetime
    replica: str
    leader: str | None
    generation: int
    event: int
    cloudlets: int
    endpoints: int
    vcps: int
    route_servers: list[RouteServerSummary]
    agents: AgentsSummary
    drift: DriftSummary | None
    trial: TrialSummary | None
    alarms: AlarmsSummary


@dataclass
class Counts:
    """Numbers that take a look at every cloudlet or endpoint, kept for as long as they hold: `managed` cloudlets have
    an agent; those `unapproved` wait for an operator, and endpoints `unconsented` for their tenants."""

    intent: Intent | None = None
    managed: int = 0
    unapproved: int = 0
    unconsented: int = 0
    connected: int = 0
    counted: float = float("-inf")

    def look(self, region: Region) -> None:
        """Count again what does not hold any longer."""
        if (intent := region.intent) is not self.intent:
            self.intent = intent
            self.managed = sum(one.managed for one in intent.cloudlets.values())
            self.unapproved = sum(one.state is CloudletState.PENDING for one in intent.cloudlets.values())
            self.unconsented = sum(intent.held(name) for name in intent.endpoints)
        if (at := time.monotonic()) - self.counted >= FRESH:
            self.connected = sum(
                region.replication.presence.connected(name) for name, one in intent.cloudlets.items() if one.managed
            )
            self.counted = at


@router.get("", responses=errors(), summary="Show the region in numbers")
async def show(request: Request, region: Running) -> Summary:
    """Return the state of the region's parts, and numbers of what needs attention."""
    counts: Counts = request.app.state.counts
    counts.look(region)
    replicas, trial = region.replication.replicas, region.changes.flow.trial
    async with region.database.read() as session:
        latest = await events.latest(session)
        row = await generations.get(session, trial.generation) if trial is not None else None
        missing, filling = await tunnels.alarm_count(session), await usage.filling(session, now().date())
    drift = region.changes.drift_counts
    return Summary(
        at=now(),
        replica=replicas.name,
        leader=replicas.leader,
        generation=region.intent.generation,
        event=latest,
        cloudlets=len(region.intent.cloudlets),
        endpoints=len(region.intent.endpoints),
        vcps=len(region.intent.vcps),
        route_servers=[
            RouteServerSummary(name=server.name, in_step=server.reachable, error=server.error)
            for server in region.route_servers.syncs
        ],
        agents=AgentsSummary(connected=counts.connected, expected=counts.managed),
        drift=DriftSummary(steps=drift.steps, failing=drift.failing) if drift is not None else None,
        trial=TrialSummary(
            generation=trial.generation, cause=row.cause if row is not None else "", confirm_by=trial.confirm_by
        )
        if trial is not None
        else None,
        alarms=AlarmsSummary(
            tunnels=missing,
            filling=filling,
            unconsented=counts.unconsented,
            unapproved=counts.unapproved,
            events_lost=region.runtime.event_log.dropped,
        ),
    )
