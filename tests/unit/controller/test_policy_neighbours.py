"""`neighbour` tests inside a policy use the region's measurements, whatever the pools are based on."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from controller.core.clock import now
from controller.db.neighbours import NeighbourRow
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.policies import HEAD, ask, done, pool
from tests.unit.controller.test_neighbour_tables import row

HERE, NEAR, FAR = ({"latitude": latitude, "longitude": 7.0} for latitude in (45.0, 45.005, 48.0))
NAMED, PLACED = pool("blue", 1, 2), "  metro: {automatic: proximity}\n"


def policy(expect: str, pools: str = NAMED, source: str = "c1", destination: str = "c3") -> str:
    return (
        f"{HEAD}vcps:\n{pools}tests:\n"
        f"  - {{name: pair, neighbour: {{from: {source}, to: {destination}, is: {expect}}}}}\n"
    )


async def measured(controller: Controller, *rows: NeighbourRow) -> None:
    async with controller.region.database.write() as session:
        await session.execute(delete(NeighbourRow))
        session.add_all(rows)


async def outcome(controller: Controller, text: str) -> tuple[str, str]:
    """Return the result of the policy's only test, and the reason."""
    (test,) = (await done(controller, "test", text))["tests"]
    return test["got"], test["why"][0]


@pytest.mark.parametrize("pools", [NAMED, PLACED], ids=["named", "placed"])
async def test_a_neighbour_is_what_was_measured(controller: Controller, pools: str) -> None:
    """With 10 ms a distant cloudlet is a possible destination; the longer round trip of both directions, the greater
    loss, and silence count."""
    for number, place in enumerate((HERE, NEAR, FAR), 1):
        await controller.cloudlet(f"c{number}", number, place=place)
    far, near = policy("possible", pools), policy("near", pools)
    assert (await outcome(controller, far))[0] == "not"
    problem(await ask(controller, "apply", far), 422, None, "nothing was measured between c1 and c3")

    await measured(controller, row("c1", "c3", 10.0), row("c3", "c1", 12.0))
    for source, destination in (("c1", "c3"), ("c3", "c1")):
        assert await outcome(controller, policy("possible", pools, source, destination)) == (
            "possible",
            "RTT 12 ms, loss 0; 180 ms keep a possible neighbour, with loss up to 0.2",
        )
    assert (await outcome(controller, near))[0] == "not"
    problem(await ask(controller, "apply", policy("not", pools)), 422, None, "expected not, got possible")
    await done(controller, "apply", far)
    assert (await controller.get("/policy/drift"))["failing"] == []

    async def fails(text: str, *rows: NeighbourRow) -> None:
        """Check that a test of the policy in force fails after these measurements."""
        await measured(controller, *rows)
        (failing,) = (await controller.get("/policy/drift"))["failing"]
        assert text in failing["message"]
        problem(await ask(controller, "check", far), 422, None, text)

    await fails("RTT 400 ms", row("c1", "c3", 10.0), row("c3", "c1", 400.0))
    lossy: Any = row("c3", "c1", 10.0)
    lossy.loss = 0.5
    await fails("loss 0.5", row("c1", "c3", 10.0), lossy)
    await fails("expected possible, got stale", row("c1", "c3", 10.0, now() - timedelta(seconds=1)))
    assert (await outcome(controller, policy("stale", pools)))[0] == "stale"


async def test_a_cloudlet_says_how_far_near_is(controller: Controller) -> None:
    """Only if the policy asks, and only of a place: coverage and walk of its site (docs/policy/proximity.md)."""
    await controller.cloudlet("c1", 1, place=HERE)
    await controller.cloudlet("c2", 2, place=NEAR)
    await controller.cloudlet("c3", 3)

    async def reaches() -> list[float | None]:
        return [(await controller.get(f"/cloudlets/c{number}"))["reach_m"] for number in (1, 2, 3)]

    assert await reaches() == [None, None, None]
    await done(controller, "apply", f"{HEAD}vcps:\n{NAMED}")
    assert await reaches() == [None, None, None]
    sites = "proximity: {sites: {c2: {coverage_m: 500}}}\n"
    await done(controller, "apply", f"{HEAD}vcps:\n{PLACED}{sites}")
    assert await reaches() == [pytest.approx(1036.0), pytest.approx(1436.0), None]
