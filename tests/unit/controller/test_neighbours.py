"""Neighbours through the API: the neighbours to probe, the effect of reports, silence, and history."""

import asyncio
from typing import Any

import pytest

from controller.agents import neighbours as work
from controller.core.event_budget import KIND_BURST
from controller.db import bandwidths, neighbours
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.neighbour_reports import clock as clock
from tests.unit.controller.neighbour_reports import measured, rows, send, told, two
from tests.unit.controller.neighbour_reports import quickly as quickly


async def listed(controller: Controller, **query: Any) -> dict[tuple[str, str], Any]:
    return {(n["cloudlet"], n["neighbour"]): n for n in (await controller.get("/neighbours", **query))["items"]}


async def events(controller: Controller, count: int) -> list[dict[str, Any]]:
    """Wait for this number of events about neighbours, and return them."""
    async with asyncio.timeout(5):
        while True:
            page = await controller.get("/events", limit=1000)
            found = [e for e in page["items"] if e["type"].startswith("neighbour-")]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


async def test_presence_is_announced_to_those_who_share_a_pool_and_to_nobody_else(controller: Controller) -> None:
    one, two_ = await two(controller)
    three = await controller.agent("c3", 3)
    document = await one.probes("c2")
    assert (document.cloudlet, document.vtep, document.candidates[0].vtep) == ("c1", "192.0.2.1", "192.0.2.2")
    assert (document.probe_seconds, document.report_seconds, document.echoes) == (60.0, 60.0, 5)
    await three.probes()
    assert len(three.candidates) == 1
    before, version = len(two_.candidates), two_.documents[-1].version
    await controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
    await asyncio.gather(one.probes("c2", "c3"), two_.probes("c1", "c3"), three.probes("c1", "c2"))
    assert len(two_.candidates) == before + 1 and two_.documents[-1].version > version, "one document for one change"
    await controller.post("/cloudlets/c3/drain", status=200)
    await asyncio.gather(one.probes("c2"), two_.probes("c1"), three.probes())


async def test_who_comes_near_is_announced_without_a_new_desired_state(controller: Controller) -> None:
    one = await controller.agent("c1", 1, place={"latitude": 45.0, "longitude": -75.0})
    await controller.agent("c9", 9, place={"latitude": 46.0, "longitude": -75.0})
    await one.probes()
    version = one.documents[-1].version
    two_ = await controller.agent("c2", 2, place={"latitude": 45.005, "longitude": -75.0})
    await asyncio.gather(one.probes("c2"), two_.probes("c1"))
    assert one.documents[-1].version == version
    await controller.delete("/endpoints/c2-lan")
    await controller.delete("/cloudlets/c2")
    await one.probes()
    assert one.documents[-1].version == version


async def test_a_stream_that_has_its_desired_state_still_gets_its_candidates(controller: Controller) -> None:
    one, _ = await two(controller)
    again = FakeAgent(controller.http, one.headers["Authorization"].removeprefix("Bearer "))
    await controller.follow(again, (await one.document(0)).version)
    await again.probes("c2")
    assert again.documents == []


async def test_a_report_becomes_the_current_value_and_history(controller: Controller) -> None:
    one, _ = await two(controller)
    await told(
        one, "c1", measured(0, "c2", 10.0, age=30), measured(1, "c2", None), measured(2, "c2", 12.0, method="udp")
    )
    (found,) = (await listed(controller)).values()
    assert found["median_ms"] == 12.0 and found["method"] == "udp" and not found["stale"]
    assert found["loss"] == pytest.approx(2 / 9) and not found["possible"], "a lost round is not forgotten at once"
    past = (await controller.get("/neighbours/history", cloudlet="c1", neighbour="c2"))["items"]
    assert [p["median_ms"] for p in past] == [10.0, None, 12.0] and [p["loss"] for p in past] == [0, 1, 0]
    await told(one, "c1", measured(3, "c2", 12.0))
    assert (await listed(controller, possible=True)).keys() == {("c1", "c2")}
    matrix = await controller.get("/neighbours/matrix", vcp="blue")
    assert matrix == {"cloudlets": ["c1", "c2"], "median_ms": {"c1": {"c2": 12.0}}, "next": None}
    page = await controller.get("/neighbours/matrix", limit=1)
    assert (page["median_ms"], page["cloudlets"]) == (matrix["median_ms"], ["c1", "c2"]) and page["next"]
    page = await controller.get("/neighbours/matrix", limit=1, cursor=page["next"])
    assert page == {"cloudlets": ["c1", "c2"], "median_ms": {}, "next": None}
    async with controller.region.database.read() as session:
        assert await neighbours.medians(session, ["c2"]) == {"c1": {"c2": 12.0}}


async def test_what_is_sent_again_is_not_taken_twice(controller: Controller) -> None:
    one, _ = await two(controller)
    first = [measured(n, "c2", 10.0 + n) for n in range(3)]
    await asyncio.gather(told(one, "c1", *first), told(one, "c1", *first), told(one, "c1", *first[:1]))
    await told(one, "c1", *first[1:], measured(7, "c2"), dropped=4)
    await told(one, "c1", measured(7, "c2"), dropped=4)
    history = "/neighbours/history"
    assert len((await controller.get(history, cloudlet="c1", neighbour="c2"))["items"]) == 4
    await told(one, "c1", measured(0, "c2"), run="r2", dropped=1)
    assert len((await controller.get(history, cloudlet="c1", neighbour="c2"))["items"]) == 5
    async with controller.region.database.read() as session:
        from controller.db import reporters

        heard = await reporters.get(session, "c1")
    assert heard is not None and (heard.run, heard.number, heard.dropped, heard.dropped_now) == ("r2", 0, 5, 1)


async def test_a_report_is_answered_when_it_is_committed_and_refused_when_it_cannot_be(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = await two(controller)

    async def broken(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(neighbours, "save", broken)
        answer = await send(one, "c1", measured(0, "c2"))
    problem(answer, 503, reason="database")
    assert answer.headers["retry-after"] == "10"
    assert await listed(controller) == {}
    with monkeypatch.context() as patch:
        patch.setattr(work, "MOST_WAITING", -1)
        problem(await send(one, "c1", measured(0, "c2")), 503, reason="Too many")
    await told(one, "c1", measured(0, "c2"))
    assert len(await listed(controller)) == 1


async def test_what_cannot_be_is_refused_and_strangers_are_passed_over(controller: Controller) -> None:
    one, two_ = await two(controller)
    problem(await send(two_, "c1", measured(0, "c2")), 403, "cloudlet", "another cloudlet")
    for wrong in ({"received": 6}, {"median_ms": 1.0}, {"min_ms": None}, {"age": -1}, {"received": 0}):
        problem(await send(one, "c1", measured(0, "c2") | wrong), 422)
    await told(one, "c1", measured(0, "nobody"), measured(1, "c1"), measured(2, "c2"))
    assert (await listed(controller)).keys() == {("c1", "c2")}
    metrics = (await controller.http.get("/metrics")).text
    assert 'weft_neighbour_rounds_total{outcome="unknown"} 2.0' in metrics


async def test_who_falls_silent_is_no_place_to_move_to_and_it_is_told_once(controller: Controller, clock: Any) -> None:
    one, _ = await two(controller)
    await told(one, "c1", measured(0, "c2", age=0))
    (event,) = await events(controller, 1)
    assert (event["type"], event["text"]) == ("neighbour-possible", "c1: c2 is a possible neighbour now")
    clock.forward(seconds=170)
    await controller.region.agents.neighbours.sweep()
    assert (await listed(controller))["c1", "c2"]["possible"]
    clock.forward(seconds=20)
    found = (await listed(controller))["c1", "c2"]
    assert found["stale"] and not found["possible"], "even before anybody sweeps"
    for _ in range(2):
        await controller.region.agents.neighbours.sweep()
    (event,) = (await events(controller, 2))[1:]
    assert event["type"] == "neighbour-lost"
    assert event["text"] == "c1: c2 is no possible neighbour any more: nothing was heard of them"
    await told(one, "c1", measured(1, "c2", 160.0))
    assert not (await listed(controller))["c1", "c2"]["possible"], "after a silence it has to earn it again"
    clock.forward(days=2)
    controller.region.agents.neighbours._turn = 0
    await controller.region.agents.neighbours.sweep()
    assert await listed(controller) == {}


async def test_an_old_round_that_was_kept_back_makes_nobody_possible(controller: Controller) -> None:
    one, _ = await two(controller)
    await told(one, "c1", measured(0, "c2", 10.0, age=600))
    found = (await listed(controller))["c1", "c2"]
    assert found["stale"] and not found["possible"]
    await told(one, "c1", measured(1, "c2", 10.0, age=0))
    assert len(await events(controller, 1)) == 1, "the only news is the second round's"


async def test_a_storm_of_one_cloudlet_s_changes_keeps_no_other_s_from_being_told(controller: Controller) -> None:
    for number in range(200):
        controller.region.agents.neighbours._tell([(("c1", f"n{number}"), number % 2 == 0)], "because")
    controller.region.agents.neighbours._tell([(("c2", "y"), True), (("c2", "x"), True)], "because")
    found = await events(controller, 2 * KIND_BURST + 1)
    assert len(found) == 2 * KIND_BURST + 1
    assert found[-1]["subject"] == "c2" and found[-1]["data"] == {"neighbours": ["x", "y"]}


async def test_what_is_left_of_a_cloudlet_goes_with_it(controller: Controller) -> None:
    one, two_ = await two(controller)
    await told(one, "c1", measured(0, "c2"))
    await told(two_, "c2", measured(0, "c1"))
    async with controller.region.database.write() as session:
        await bandwidths.record(session, "c1", "c2", 1_000_000, 1.0)
    await controller.post("/cloudlets/c2/drain", status=200)
    await controller.delete("/cloudlets/c2")
    await controller.region.agents.neighbours.sweep()
    assert await listed(controller) == {} and [r.cloudlet for r in await rows(controller, 0)] == ["c1"]
    assert (await controller.get("/neighbours/bandwidths"))["items"] == []


async def test_bandwidth_is_what_moves_found(controller: Controller) -> None:
    await two(controller)
    for bytes, seconds in ((1_000_000, 1.0), (1_000_000, 0.5)):
        async with controller.region.database.write() as session:
            await bandwidths.record(session, "c1", "c2", bytes, seconds)
    (found,) = (await controller.get("/neighbours/bandwidths", cloudlet="c1"))["items"]
    assert found["moves"] == 2 and found["bits_per_second"] == 12e6 and found["last_seconds"] == 0.5
    assert (await controller.get("/neighbours/bandwidths", cloudlet="c2"))["items"] == []


async def test_lists_come_in_pages_and_filters_hold(controller: Controller) -> None:
    agents = [await controller.agent(f"c{n}", n) for n in (1, 2, 3)]
    for number, agent in enumerate(agents, 1):
        others = [f"c{n}" for n in (1, 2, 3) if n != number]
        await told(agent, f"c{number}", *(measured(i, name, 100.0 * number) for i, name in enumerate(others)))
    seen: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = await controller.get("/neighbours", limit=2, **cursor)
        seen += [(n["cloudlet"], n["neighbour"]) for n in page["items"]]
        if not page["next"]:
            break
        cursor = {"cursor": page["next"]}
    assert seen == [(a, b) for a in ("c1", "c2", "c3") for b in ("c1", "c2", "c3") if a != b]
    assert (await listed(controller, possible=True)).keys() == {("c1", "c2"), ("c1", "c3")}
    assert (await listed(controller, possible=False, neighbour="c1")).keys() == {("c2", "c1"), ("c3", "c1")}
    assert await listed(controller, stale=True) == {}
    problem(await controller.http.get("/api/v1/neighbours/history?cloudlet=c1&neighbour=c7"), 404)
    problem(await controller.http.get("/api/v1/neighbours/matrix?vcp=none"), 404)
    for cursor_ in ("YQ==", "!"):
        problem(await controller.http.get("/api/v1/neighbours", params={"cursor": cursor_}), 422, "cursor")
    late = {"cloudlet": "c1", "neighbour": "c2", "since": "9999-12-31T23:59:59-10:00"}
    problem(await controller.http.get("/api/v1/neighbours/history", params=late), 422, "since")


async def test_values_survive_a_restart_and_the_stopping_controller_answers(start: Start) -> None:
    async with start() as controller:
        one, _ = await two(controller)
        await told(one, "c1", measured(0, "c2"))
        credential = one.headers
        work.PAUSE = 30
        waiting = asyncio.create_task(send(one, "c1", measured(1, "c2", 20.0)))
        await eventually(lambda: controller.region.agents.neighbours._arrivals)
        controller.region.stop()
        assert (await waiting).status_code == 204
    work.PAUSE = 0.01
    async with start() as controller:
        assert (await listed(controller))["c1", "c2"]["median_ms"] == 20.0
        one.http, one.headers = controller.http, credential
        await told(one, "c1", measured(1, "c2", 20.0))
        assert len((await controller.get("/neighbours/history", cloudlet="c1", neighbour="c2"))["items"]) == 2


async def test_two_controllers_on_one_database_take_a_round_once(start: Start) -> None:
    async with start() as first:
        one, two_ = await two(first)
        await told(one, "c1", measured(0, "c2"))
        async with start() as second:
            there = FakeAgent(second.http, ""), FakeAgent(second.http, "")
            there[0].headers, there[1].headers = one.headers, two_.headers
            same = [measured(n, "c2") for n in range(1, 9)]
            await asyncio.gather(*(told(agent, "c1", *same) for agent in (one, there[0]) for _ in range(3)))
            new = [measured(n, "c1") for n in range(8)]
            answers = await asyncio.gather(*(send(agent, "c2", *new) for agent in (two_, there[1])))
            assert {answer.status_code for answer in answers} <= {204, 503}, (
                "who is late with a first report comes again"
            )
            await asyncio.gather(told(two_, "c2", *new), told(there[1], "c2", *new))
            for controller in (first, second):
                for query, rounds in ((("c1", "c2"), 9), (("c2", "c1"), 8)):
                    past = await controller.get("/neighbours/history", cloudlet=query[0], neighbour=query[1])
                    assert len(past["items"]) == rounds


async def test_a_long_round_trip_keeps_a_new_lan_out_of_the_pool_nearby(controller: Controller) -> None:
    """`max_rtt_ms` counts when a LAN is placed: later measurements change no pool."""
    policy = "apiVersion: weft/v1\nvcps:\n  metro: {automatic: proximity, max_rtt_ms: 50}\n"
    headers = {"Content-Type": "application/yaml"}
    assert (await controller.http.post("/api/v1/policy/apply", content=policy, headers=headers)).is_success
    one = await controller.agent("c1", 1, place={"latitude": 45.0, "longitude": -75.0})
    await controller.agent("c2", 2, place={"latitude": 45.005, "longitude": -75.0})
    await one.probes("c2")

    def pools() -> dict[str, list[str]]:
        return {name: sorted(pool.members) for name, pool in controller.region.intent.vcps.items()}

    assert pools() == {"metro-1": ["c1-lan", "c2-lan"]}, "one that is not known forbids nothing"
    lan = {"name": "c2-lan", "cloudlet": "c2", "prefix": "10.2.0.0/24"}
    for number, median, expected in (
        (1, 400.0, {"metro-1": ["c1-lan"], "metro-2": ["c2-lan"]}),
        (2, 12.0, {"metro-1": ["c1-lan", "c2-lan"]}),
    ):
        before = pools()
        await told(one, "c1", measured(number, "c2", median))
        assert pools() == before
        await controller.delete("/endpoints/c2-lan")
        await controller.post("/endpoints", lan)
        assert pools() == expected
