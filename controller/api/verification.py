"""Verification: has agents send probes through their tunnels now, also where nothing may pass. Selects and asks;
`controller.core.verification` decides what is expected and what results mean."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from random import SystemRandom
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.types import Body, Name
from controller.core.doctor import Causes, Cloudlet
from controller.core.intent import Intent
from controller.core.refusals import invalid
from controller.core.verification import (
    Judgement,
    Pair,
    Reach,
    between,
    everywhere,
    judged,
    patience,
    requests,
    within,
)
from controller.wire.findings import IpFamily
from controller.wire.probes import ProbeResult

router = APIRouter(prefix="/api/v1/doctor/probes", tags=["doctor"], dependencies=[Operator])

MOST_CAUSES = 3
"""Most sentences of the doctor's about one pair."""

UNDERSTOOD = "probes"
"""The document that an agent must understand."""


class ProbesWanted(Body):
    """The pairs to probe: those between `a` and `b`, each a cloudlet or an endpoint; or those of the members of `vcp`;
    without any name every pair that shares a pool, and `sample` of those that do not."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"a": "c1", "b": "c2-lan"}]})

    a: Name | None = None
    b: Name | None = None
    vcp: Name | None = None
    sample: Annotated[int, Field(ge=0, le=1000)] = 50


class ProbedPair(BaseModel):
    """One pair in one family. `expected` and `observed`: packets pass; or the gateways only find each other (an access
    rule drops ICMP); or not even that, as they share no pool. `why` says what is in the way, if anything should be.
    `rtt_ms` is that of an echo, or of the gateway's discovery where no echo came back; `mtu` the size of the largest
    packet that came back whole, up to the LANs' MTU. `differs` says how it is not as expected, empty if it is, and
    `causes` are the doctor's sentences that may be the reason."""

    near: str
    far: str
    family: IpFamily
    expected: Reach
    why: str
    observed: Reach
    rtt_ms: float | None
    mtu: int | None
    differs: str
    causes: list[str]


class UnaskedPair(BaseModel):
    """A pair that was not probed, and the reason."""

    near: str
    far: str
    reason: str


class Verification(BaseModel):
    """The results of a verification: `ok` if all are as expected and all that were asked for came. `pairs` are those
    that were probed, per family: `passing` of them should pass, `filtered` ones find each other alone, `forbidden` ones
    share no pool; `forbidden_of` is the number of all pairs of LANs that share none. `unasked` are pairs that were not
    probed, and `unable` the cloudlets whose PEs cannot be asked, with the reasons."""

    ok: bool
    seconds: float
    passing: int
    filtered: int
    forbidden: int
    forbidden_of: int
    pairs: list[ProbedPair]
    unasked: list[UnaskedPair]
    unable: dict[str, str]


@router.post("", responses=errors(409), summary="Probe pairs of LANs now")
async def probe(body: ProbesWanted, region: Running) -> Verification:
    """Have agents send probes from their gateways, and compare what passes with the pools and access rules. The answer
    comes when all results are there: after some seconds, in a large region after minutes. 409: another verification is
    under way."""
    if (body.a is None) != (body.b is None):
        raise invalid("b", "name two cloudlets or endpoints, or none")
    if body.a is not None and body.vcp is not None:
        raise invalid("vcp", "name two cloudlets or endpoints, or a VCP, not both")
    began, intent = time.monotonic(), region.intent
    cloudlets = await region.diagnosis.doctor.cloudlets()
    unable = _unable(intent, {one.desired.cloudlet: one for one in cloudlets})
    if body.a is not None and body.b is not None:
        selected = await asyncio.to_thread(between, intent, body.a, body.b, unable)
    elif body.vcp is not None:
        selected = await asyncio.to_thread(within, intent, body.vcp, unable)
    else:
        selected = await asyncio.to_thread(everywhere, intent, body.sample, unable, SystemRandom())
    number = secrets.randbits(62)
    asked = requests(intent, selected.pairs, number)
    found = await region.replication.probes.run(number, asked, patience(asked))
    results = [(pair, found.get((pair.near, pair.far, pair.address))) for pair in selected.pairs]
    judgements = [judged(pair, result) for pair, result in results]
    late = [_late(intent, pair, result) for pair, result in results if result is None or result.problem]
    differs = any(one.differs for one in judgements)
    why = await asyncio.to_thread(Causes, region.changes.flow.rules(), cloudlets) if differs else None
    probed = [_shown(one, why) for one in judgements if one.observed is not None]
    kinds = Counter(one.expected for one in probed)
    unasked = [UnaskedPair(near=near, far=far, reason=reason) for (near, far), reason in selected.unasked.items()]
    return Verification(
        ok=not late and not any(one.differs for one in probed) and (bool(probed) or not unasked),
        seconds=round(time.monotonic() - began, 3),
        passing=kinds[Reach.PASSES],
        filtered=kinds[Reach.RESOLVES],
        forbidden=kinds[Reach.SILENT],
        forbidden_of=selected.forbidden,
        pairs=sorted(probed, key=lambda one: (not one.differs, one.near, one.far, one.family)),
        unasked=[*late, *unasked],
        unable=unable,
    )


def _unable(intent: Intent, cloudlets: Mapping[str, Cloudlet]) -> dict[str, str]:
    """Return the cloudlets with endpoints whose PEs cannot be asked, with the reasons."""
    found = {}
    for name in sorted(intent.cloudlets):
        if not intent.endpoints_of.get(name):
            continue
        if intent.cloudlets[name].unmanaged:
            found[name] = "its PE has no agent"
        elif (cloudlet := cloudlets.get(name)) is None or not cloudlet.connected:
            found[name] = "its agent is not connected"
        elif cloudlet.report is None:
            found[name] = "its agent has not reported yet"
        elif UNDERSTOOD not in cloudlet.report.understands:
            found[name] = f"its agent's release {cloudlet.report.agent_version} sends no probes on demand"
    return found


def _late(intent: Intent, pair: Pair, result: ProbeResult | None) -> UnaskedPair:
    cloudlet = intent.endpoints[pair.near].cloudlet
    reason = f"the agent of {cloudlet} sent no result in time" if result is None else f"{cloudlet}: {result.problem}"
    return UnaskedPair(near=pair.near, far=pair.far, reason=reason)


def _shown(found: Judgement, why: Causes | None) -> ProbedPair:
    pair = found.pair
    return ProbedPair(
        near=pair.near,
        far=pair.far,
        family=pair.family,
        expected=pair.expected,
        why=pair.why,
        observed=found.observed,
        rtt_ms=found.rtt_ms,
        mtu=found.mtu,
        differs=found.differs,
        causes=why.of(pair.near, pair.far, MOST_CAUSES) if why is not None and found.differs else [],
    )
