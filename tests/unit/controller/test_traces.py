"""The traces of a join and of a move: each part's span stands where it belongs."""

from collections.abc import Iterator

import pytest

from controller.wire import tracing
from controller.wire.tracing import place
from lab.patience import eventually
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_mover import breaking
from tests.unit.controller.fake_routeserver import fake_route_server
from tests.unit.controller.moving_town import town
from tests.unit.wire.recorded import Recorded, below, failed, recording
from tests.unit.wire.recorded import place as place_of

CALLER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
JOIN = "POST /api/v1/vcps/{vcp}/members"
TRACE = 0x0AF7651916CD43DD8448EB211C80319C


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    with recording() as found:
        yield found


async def test_a_join_is_one_trace_from_the_caller_to_each_route_server_and_agent(
    start: Start, recorded: Recorded
) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.agent("c1", 1)
        await controller.agent("c2", 2)
        await controller.post("/vcps", {"name": "blue"})
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        recorded.exporter.clear()
        answer = await controller.http.post("/api/v1/vcps/blue/members", json={"endpoint": "c2-lan"}, headers=CALLER)
        generation = answer.json()["generation"]
        assert answer.status_code == 201 and answer.json()["in_force"], answer.text
        await eventually(lambda: recorded.named(JOIN))
    request, change = recorded.one(JOIN), recorded.one("change")
    assert below(request) == tracing.Place(TRACE, 0xB7AD6B7169203331)
    assert dict(request.attributes or {})["http.response.status_code"] == 201
    assert dict(request.attributes or {})["weft.request"] == answer.headers["X-Request-Id"]
    assert below(change) == place_of(request)
    for server in (one, two):
        span = recorded.one("route server", route_server=server.name, generation=generation)
        assert below(span) == place_of(change) and failed(span) is None
        assert server.traces[-1] == f"00-{TRACE:032x}-{place_of(span).span:016x}-01"
    for cloudlet in ("c1", "c2"):
        span = recorded.one("agent", cloudlet=cloudlet, generation=generation)
        assert below(span) == place_of(change) and failed(span) is None
    assert {place_of(span).trace for span in recorded.named("change")} == {TRACE}


async def test_parts_that_do_not_answer_show(start: Start, recorded: Recorded) -> None:
    async with fake_route_server("rs1") as server, start(server, agent_timeout=0.3) as controller:
        await controller.agent("c1", 1)
        agent = await controller.agent("c2", 2)
        await controller.post("/vcps", {"name": "blue"})
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        agent.answers = False
        server.down = True
        recorded.exporter.clear()
        await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"})
        await eventually(lambda: recorded.named(JOIN))
    assert failed(recorded.one("agent", cloudlet="c2")) == "CancelledError"
    assert all(failed(span) for span in recorded.named("route server"))
    assert failed(recorded.one(JOIN)) is None, "the change is made; the answer says who is missing"


async def test_agents_and_streams_have_no_spans(controller: Controller, recorded: Recorded) -> None:
    agent = await controller.agent("c1", 1)
    recorded.exporter.clear()
    await agent.report(kernel(agent.documents[-1]))
    await controller.http.get("/healthz")
    await controller.http.get("/metrics")
    async with controller.http.stream("GET", "/api/v1/events", headers={"Accept": "text/event-stream"}):
        pass
    await controller.get("/vcps")
    await eventually(lambda: recorded.spans)
    assert [span.name for span in recorded.spans] == ["GET /api/v1/vcps"]


async def test_a_refused_request_is_no_failure_of_the_controller(controller: Controller, recorded: Recorded) -> None:
    await controller.http.post("/api/v1/vcps/none/members", json={"endpoint": "x"})
    await eventually(lambda: recorded.spans)
    (span,) = [one for one in recorded.spans if one.name == JOIN]
    assert dict(span.attributes or {})["http.response.status_code"] == 404 and failed(span) is None


@pytest.mark.slow
async def test_a_move_is_one_trace_with_every_step(controller: Controller, recorded: Recorded) -> None:
    async with town(controller) as town_:
        asked = await controller.http.post(
            "/api/v1/moves", json={"vm": "v1", "endpoint": "c2-lan", "linger": 0}, headers=CALLER
        )
        name = asked.json()["name"]
        assert (await town_.over(name))["state"] == "done"
        await eventually(lambda: recorded.named("move discard"))
    root = place(name)
    move = recorded.one("move")
    assert place_of(move) == root and below(move) is None and failed(move) is None
    (link,) = move.links
    request = recorded.one("POST /api/v1/moves")
    assert (link.context.trace_id, link.context.span_id) == (TRACE, place_of(request).span)
    steps = [span for span in recorded.spans if span.name.startswith("move ")]
    assert {span.name for span in steps} >= {
        "move authorise", "move connect", "move reserve", "move prepare", "move memory", "move switchover",
        "move activate", "move join", "move leave", "move discard",
    }  # fmt: skip
    assert all(below(span) == root and failed(span) is None for span in steps)
    places = {span.name: dict(span.attributes or {})["weft.place"] for span in steps}
    assert (places["move connect"], places["move memory"], places["move join"]) == ("controller", "c1", "c2")
    assert dict(recorded.one("move memory").attributes or {})["weft.wire"] == 500_000
    own = {place_of(span) for span in steps}
    assert recorded.named("controller") and all(below(span) in own for span in recorded.named("controller"))
    assert all(span.start_time and span.end_time and span.start_time <= span.end_time for span in steps)
    assert len(own) == len(steps)


@pytest.mark.slow
async def test_a_move_that_is_undone_says_why(controller: Controller, recorded: Recorded) -> None:
    async with town(controller) as town_:
        town_.movers["c1"].broken = breaking("memory", "no room")
        name = await town_.start()
        assert (await town_.over(name))["state"] == "undone"
        await eventually(lambda: recorded.named("move"))
    assert failed(recorded.one("move")) and failed(recorded.one("move memory")) == "no room"
