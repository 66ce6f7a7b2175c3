"""The measurements of a region of a given size, one function each. Calls go through the whole API, in this process."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any

import httpx

from controller.core.intent import Intent
from controller.core.proximity.placing import place
from tests.simulate.agents import attending
from tests.simulate.figures import Figure, Watch
from tests.simulate.towns import (
    DEVICES,
    GROUPS,
    PLANNED,
    RULE,
    cloudlet,
    credential,
    endpoint,
    incarnation,
    location,
    mac_of,
    name,
    prefix,
    vtep,
)
from tests.simulate.world import World

NEWCOMERS = 900_000
"""Numbers from here on are those of cloudlets that are added and removed again."""

AT_ONCE = 20
"""Agents that wait for an answer at the same time."""

LEASES = 10
"""The number of leases in one report of an agent."""


def placing(intent: Intent, often: int) -> Figure:
    """Measure the placing of a newcomer to a town; the bar is 10 ms, p99."""
    watch, chance, there = Watch(), random.Random(7), len(intent.cloudlets)
    for _ in range(often):
        number = chance.randrange(there)
        gone = intent.without_cloudlet(name(number)).with_cloudlet(cloudlet(number)).with_endpoint(endpoint(number))
        with watch.once():
            answer = place(gone, RULE, f"{name(number)}-lan")
        if answer.refused:
            raise Failed(f"{name(number)} cannot be placed: {answer.refused}")
    return watch.figure("placing", there)


async def enrolment(world: World, often: int) -> Figure:
    """Measure an enrolment: a cloudlet is invited, enrols, gets a LAN, and is placed by the policy in force. That is
    three calls and four changes."""
    watch, chance = Watch(), random.Random(world.cloudlets)
    for number in range(NEWCOMERS, NEWCOMERS + often):
        latitude, longitude = location(chance.randrange(world.cloudlets))
        new = {"name": name(number), "pe": "evpn", "vtep": vtep(number)}
        with watch.once():
            made = await _post(world, "/cloudlets", new | {"latitude": latitude, "longitude": longitude})
            token = {"token": made["token"], "cloudlet": name(number), "agent_version": "simulated"}
            await _post(world, "/enrolments", token)
            lan = {"name": f"{name(number)}-lan", "cloudlet": name(number), "prefix": prefix(number)}
            placed = await _post(world, "/endpoints", lan)
        if not placed["vcps"]:
            raise Failed(f"{name(number)} was not placed")
    return watch.figure("enrolment", world.cloudlets, world.database)


async def farewell(world: World, often: int) -> Figure:
    """Measure the removal of the enrolled cloudlets: each is drained and removed, and the controller checks the rest of
    its pools."""
    watch = Watch()
    for number in range(NEWCOMERS, NEWCOMERS + often):
        with watch.once():
            await _post(world, f"/cloudlets/{name(number)}/drain", {}, 200)
            _checked(await world.http.delete(f"/api/v1/cloudlets/{name(number)}"), 200)
    return watch.figure("removal", world.cloudlets, world.database)


async def joins(world: World, often: int) -> tuple[Figure, Figure]:
    """Measure how a member leaves its pool and joins it again; each call is answered when all agents of the pool have
    reported it."""
    leave, join, chance = Watch(), Watch(), random.Random(3)
    for _ in range(often):
        member = f"{name(chance.randrange(world.cloudlets))}-lan"
        pool = sorted(world.region.intent.pools_of[member])[0]
        members = world.region.intent.vcps[pool].members
        async with attending(world.region, [world.region.intent.endpoints[m].cloudlet for m in members]):
            with leave.once():
                left = _checked(await world.http.delete(f"/api/v1/vcps/{pool}/members/{member}"), 200)
            with join.once():
                joined = await _post(world, f"/vcps/{pool}/members", {"endpoint": member})
        if not (left["in_force"] and joined["in_force"]):
            raise Failed(f"a change of {pool} was not in force when it was answered")
    return (
        join.figure("join", world.cloudlets, world.database),
        leave.figure("leave", world.cloudlets, world.database),
    )


async def leases(world: World, often: int) -> Figure:
    """Measure the reports of agents on the leases that they gave out by themselves: ten at a time, half renewed, half
    new."""
    turn, cloudlets = time.time_ns(), random.Random(world.cloudlets).sample(range(world.cloudlets), often)

    async def account(number: int) -> None:
        here = cloudlets[number]
        renewed = [{"number": n, "mac": mac_of(here * DEVICES + n + 1)} for n in range(LEASES // 2)]
        new = [
            {"number": DEVICES + n, "mac": mac_of(_newcomer(world, number * LEASES + n))} for n in range(LEASES // 2)
        ]
        entries = [{**e, "version": v, "kind": "md", "left": 3600} for v, e in enumerate(renewed + new, 2)]
        body = {"endpoint": f"{name(here)}-lan", "incarnation": incarnation(here), "turn": turn + number, "acked": 1}
        answer = await _agent(world, here, "/leases/exchange", body | {"entries": entries}, 200)
        if answer["anew"] or answer["resync"] or answer["acked"] != LEASES + 1:
            raise Failed(f"the account of {name(here)} was not taken in: {answer}")

    return await _rate(world, "lease", often, AT_ONCE, account, LEASES)


def _newcomer(world: World, number: int) -> int:
    """Return the number of a device that no test has used before, at this size or another."""
    return 2**36 + (world.cloudlets << 16) + number


async def reports(world: World, often: int) -> Figure:
    """Measure reports on twenty neighbours each, from `often` cloudlets at once."""
    chance = random.Random(9)

    async def report(number: int) -> None:
        here = chance.randrange(world.cloudlets)
        others = [name(chance.randrange(world.cloudlets)) for _ in range(20)]
        times = {"min_ms": 1.0, "median_ms": 2.0, "p95_ms": 3.0, "jitter_ms": 0.2}
        rounds = [
            {"number": n, "neighbour": other, "age": 1.0, "method": "icmp", "sent": 5, "received": 5, **times}
            for n, other in enumerate(others, 1)
        ]
        body = {"cloudlet": name(here), "run": f"run-{number}", "measurements": rounds}
        await _agent(world, here, "/neighbours", body, 204)

    return await _rate(world, "neighbour report", often, often, report)


async def policy(world: World, verb: str, often: int) -> Figure:
    """Measure a check, or a plan, of a policy with 200 more pools that select by label; every cloudlet is in one of
    them."""
    watch = Watch()
    for _ in range(often):
        with watch.once():
            answer = await world.http.post(f"/api/v1/policy/{verb}", content=PLANNED, headers={"Content-Type": YAML})
        steps = _checked(answer, 200)["plan"]
        if len(steps["create"]) != GROUPS:
            raise Failed(f"the plan makes {len(steps['create'])} pools, not {GROUPS}")
    return watch.figure(f"policy {verb}", world.cloudlets, world.database)


YAML = "application/yaml"


class Failed(Exception):  # noqa: N818 - it says what is
    """The controller did not do what the test asked."""


Work = Callable[[int], Coroutine[Any, Any, None]]


async def _rate(world: World, step: str, often: int, at_once: int, work: Work, worth: int = 1) -> Figure:
    """Do `work` `often` times, `at_once` of them at a time; each counts as `worth` in the rate."""
    watch, numbers = Watch(), iter(range(often))

    async def some() -> None:
        for number in numbers:
            with watch.once():
                await work(number)

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(min(at_once, often))))
    rate = often * worth / (time.perf_counter() - started)
    return watch.figure(step, world.cloudlets, world.database, round(rate, 1))


async def _agent(world: World, number: int, path: str, body: dict[str, Any], status: int) -> Any:
    """Call the agent API; like a real agent, try again while the database is busy."""
    headers = {"Authorization": f"Bearer {credential(number)}"}
    for _ in range(20):
        answer = await world.http.post(f"/api/v1/agent{path}", json=body, headers=headers)
        if answer.status_code != 503:
            break
    return _checked(answer, status)


async def _post(world: World, path: str, body: dict[str, Any], status: int = 201) -> Any:
    return _checked(await world.http.post(f"/api/v1{path}", json=body), status)


def _checked(answer: httpx.Response, status: int) -> Any:
    if answer.status_code != status:
        raise Failed(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return answer.json() if answer.content else None
