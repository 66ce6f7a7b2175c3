"""The neighbour database of a region: agents probe over the WAN, and report to a controller that comes and goes."""

import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

import pytest

from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest

pytestmark = pytest.mark.lab

ROUND_TRIPS = {("c1", "c2"): 10.0, ("c1", "c3"): 12.0, ("c2", "c3"): 14.0, ("e1", "e2"): 10.0}
"""Round trips in milliseconds over the core, as in the topology."""

OFTEN = "neighbours: {probe_seconds: 2, stale_intervals: 3}\n"


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/small.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy):
            phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


def fresh(rest: Rest) -> dict[tuple[str, str], Json]:
    """Return the fresh measurements by the measuring cloudlet and its neighbour."""
    return {(n["cloudlet"], n["neighbour"]): n for n in rest.items("/neighbours", stale="false")}


def pairs(*names: str) -> set[tuple[str, str]]:
    return {(one, other) for one in names for other in names if one != other}


def test_the_agents_fill_the_matrix_at_once(region: Region, rest: Rest) -> None:
    expected = pairs("c1", "c2") | pairs("e1", "e2")
    until(lambda: fresh(rest).keys() == expected, lambda: fresh(rest))
    medians = rest.get("/neighbours/matrix")["median_ms"]
    for (one, other), milliseconds in ROUND_TRIPS.items():
        if (one, other) in expected:
            for median in (medians[one][other], medians[other][one]):
                assert milliseconds - 0.5 <= median <= milliseconds + 5
    assert all(n["possible"] and n["method"] == "icmp" and n["loss"] == 0 for n in fresh(rest).values())


def test_who_joins_is_probed_by_all_and_probes_them(region: Region, rest: Rest) -> None:
    rest.post("/vcps/blue/members", {"endpoint": "c3-lan"})
    expected = pairs("c1", "c2", "c3") | pairs("e1", "e2")
    until(lambda: fresh(rest).keys() == expected, lambda: fresh(rest), 10)
    assert abs(fresh(rest)["c3", "c2"]["median_ms"] - ROUND_TRIPS["c2", "c3"]) < 5

    def told() -> list[str]:
        return [e["text"] for e in rest.get("/events", limit="1000")["items"] if e["type"] == "neighbour-possible"]

    until(lambda: any(text.startswith("c3: ") and "c1" in text for text in told()), told)


def apply(rest: Rest, text: str) -> None:
    policy = (ROOT / "lab/topologies/small.policy.yaml").read_text()
    rest.apply_policy(policy.replace("members: [c1-lan, c2-lan]", "members: [c1-lan, c2-lan, c3-lan]") + text, "often")


def history(rest: Rest, one: str, other: str) -> list[datetime]:
    found = rest.items("/neighbours/history", cloudlet=one, neighbour=other)
    return [datetime.fromisoformat(past["at"]) for past in found]


def test_another_policy_is_probed_by_at_once(region: Region, rest: Rest) -> None:
    apply(rest, OFTEN)
    before = len(history(rest, "c1", "c2"))
    until(lambda: len(history(rest, "c1", "c2")) >= before + 3, lambda: history(rest, "c1", "c2"), 15)


def test_an_agent_that_falls_silent_has_no_word_any_more(region: Region, rest: Rest) -> None:
    agent = region.processes["c2-agent"]
    agent.kill()
    try:
        until(lambda: ("c2", "c1") not in fresh(rest), lambda: fresh(rest))
        found = {(n["cloudlet"], n["neighbour"]): n for n in rest.items("/neighbours", cloudlet="c2")}
        assert found["c2", "c1"]["stale"] and not found["c2", "c1"]["possible"]
        assert ("c1", "c2") in fresh(rest), "its kernel still answers the others"
    finally:
        agent.start()
    until(lambda: ("c2", "c1") in fresh(rest), lambda: fresh(rest), 30)


def test_what_was_measured_while_the_controller_was_away_comes_later_and_once(region: Region, rest: Rest) -> None:
    controller = region.processes["controller"]
    away = time.time()
    controller.kill()
    time.sleep(8)
    controller.start()
    until(rest.ready, lambda: "the controller")
    back = time.time()

    def meanwhile() -> list[datetime]:
        return [at for at in history(rest, "c1", "c2") if away <= at.timestamp() <= back]

    until(lambda: len(meanwhile()) >= 3, meanwhile, 30)
    until(lambda: history(rest, "c1", "c2")[-1].timestamp() > back + 2, lambda: history(rest, "c1", "c2"), 30)
    times = history(rest, "c1", "c2")[-12:]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    assert all(1 < gap < 4 for gap in gaps), f"none lost, none twice: {gaps}"
