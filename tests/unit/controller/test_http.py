"""The common parts of the API: idempotency keys, entity tags, pages, events, health, metrics."""

import asyncio

from httpx_sse import aconnect_sse

from lab.patience import eventually
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer


async def test_a_repeated_post_is_done_once(controller: Controller) -> None:
    async def post(name: str, key: str) -> tuple[int, str, bool]:
        answer = await controller.http.post("/api/v1/vcps", json={"name": name}, headers={"Idempotency-Key": key})
        return answer.status_code, answer.text, "idempotency-replayed" in answer.headers

    first = await post("blue", "k1")
    again = await post("blue", "k1")
    assert first[0] == 201 and again == (*first[:2], True)
    other = await controller.http.post("/api/v1/vcps", json={"name": "red"}, headers={"Idempotency-Key": "k1"})
    problem(other, 422, "Idempotency-Key", "taken")
    assert (await post("blue", "k2"))[0] == 409
    assert (await post("blue", "k2"))[2], "a refusal is repeated too"
    many = await asyncio.gather(*(post("green", "k3") for _ in range(5)))
    assert {status for status, _, _ in many} <= {201, 409}
    assert sum(status == 201 and not replayed for status, _, replayed in many) == 1
    assert [v["name"] for v in (await controller.get("/vcps"))["items"]] == ["blue", "green"]


async def test_a_repeated_change_or_removal_is_made_once(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/vcps", {"name": "blue"})
    url, headers = "/api/v1/vcps/blue", {"Idempotency-Key": "k1"}
    first = await controller.http.delete(url, headers=headers)
    assert first.status_code == 200
    again = await controller.http.delete(url, headers=headers)
    assert again.json() == first.json() and again.headers["idempotency-replayed"] == "true"
    problem(await controller.http.delete(url, headers={"Idempotency-Key": "k2"}), 404)
    problem(await controller.http.post(url, headers=headers), 422, "Idempotency-Key", "taken")
    headers, url = {"Idempotency-Key": "k3"}, "/api/v1/cloudlets/c1"
    described = await controller.http.patch(url, json={"labels": {"city": "pisa"}}, headers=headers)
    await controller.http.patch(url, json={"labels": {"city": "turin"}})
    again = await controller.http.patch(url, json={"labels": {"city": "pisa"}}, headers=headers)
    assert again.json() == described.json() and again.headers["idempotency-replayed"] == "true"
    assert (await controller.get("/cloudlets/c1"))["labels"] == {"city": "turin"}


async def test_a_repetition_does_not_show_a_secret_again(controller: Controller) -> None:
    body, headers = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"}, {"Idempotency-Key": "k"}
    first = (await controller.http.post("/api/v1/cloudlets", json=body, headers=headers)).json()
    again = (await controller.http.post("/api/v1/cloudlets", json=body, headers=headers)).json()
    assert first["token"] and again == first | {"token": None}


async def test_keys_are_those_of_one_caller(controller: Controller) -> None:
    headers = {"Idempotency-Key": "k"}
    await controller.http.post("/api/v1/vcps", json={"name": "blue"}, headers=headers)
    stranger = headers | {"Authorization": "Bearer other"}
    problem(await controller.http.post("/api/v1/vcps", json={"name": "blue"}, headers=stranger), 401)


async def test_changes_on_an_outdated_view_are_refused(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/vcps", {"name": "blue"})
    seen = (await controller.http.get("/api/v1/vcps/blue")).headers["etag"]
    outdated = {"If-Match": seen}
    url, body = "/api/v1/vcps/blue/members", {"endpoint": "c1-lan"}
    assert (await controller.http.post(url, json=body, headers=outdated)).status_code == 201
    problem(await controller.http.delete(f"{url}/c1-lan", headers=outdated), 412)
    now = (await controller.http.get("/api/v1/vcps/blue")).headers["etag"]
    assert now != seen
    assert (await controller.http.delete(f"{url}/c1-lan", headers={"If-Match": f'"x", {now}'})).status_code == 200
    problem(await controller.http.delete("/api/v1/vcps/blue", headers=outdated), 412)
    assert (await controller.http.delete("/api/v1/vcps/blue", headers={"If-Match": "*"})).status_code == 200
    await controller.post("/vcps", {"name": "blue"})
    problem(await controller.http.delete("/api/v1/vcps/blue", headers=outdated), 412)
    for noun in ("cloudlets/c1", "endpoints/c1-lan"):
        problem(await controller.http.delete(f"/api/v1/{noun}", headers=outdated), 412)


async def test_pages_hold_everything_once(controller: Controller) -> None:
    names = [f"p{i:02}" for i in range(7)]
    for name in names:
        await controller.post("/vcps", {"name": name})
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await controller.get("/vcps", limit=3, **cursor)
        seen += [v["name"] for v in page["items"]]
        assert len(page["items"]) <= 3
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == names


async def test_events_are_followed_and_resumed(start: Start) -> None:
    async with start() as controller:
        await controller.post("/vcps", {"name": "blue"})
        seen: list[tuple[int, str, str]] = []

        async def follow(after: str | None) -> None:
            headers = {"Last-Event-ID": after} if after is not None else {}
            async with aconnect_sse(controller.http, "GET", "/api/v1/events", headers=headers, timeout=None) as source:
                async for event in source.aiter_sse():
                    seen.append((int(event.id), event.event, event.json()["subject"]))

        listening = len(controller.region.runtime.wakeup)
        live = asyncio.create_task(follow(None))
        await eventually(lambda: len(controller.region.runtime.wakeup) > listening)
        await asyncio.sleep(0.05)
        await controller.post("/vcps", {"name": "green"})
        await eventually(lambda: seen)
        assert [entry[1:] for entry in seen] == [("vcp-created", "green")]
        seen.clear()
        resumed = asyncio.create_task(follow("0"))
        await eventually(lambda: len(seen) == 2)
        assert [entry[1:] for entry in seen] == [("vcp-created", "blue"), ("vcp-created", "green")]
        page = await controller.get("/events", after=seen[0][0], limit=1)
        assert [e["subject"] for e in page["items"]] == ["green"]
        controller.region.stop()
        async with asyncio.timeout(20):
            await asyncio.gather(live, resumed)


async def test_events_are_filtered_as_a_page_and_as_a_stream(start: Start) -> None:
    async with start() as controller:
        for name in ("blue", "green", "blues"):
            await controller.post("/vcps", {"name": name})
        await controller.http.delete("/api/v1/vcps/blue")
        page = await controller.get("/events", about="blue")
        assert [(e["type"], e["subject"]) for e in page["items"]] == [("vcp-created", "blue"), ("vcp-removed", "blue")]
        page = await controller.get("/events", type="vcp-created", latest=True, limit=2)
        assert [e["subject"] for e in page["items"]] == ["green", "blues"] and page["next"] is None
        assert not (await controller.get("/events", until="2020-01-01T00:00:00"))["items"]
        wrong = await controller.http.get("/api/v1/events", params={"since": "0001-01-01T00:00:00+14:00"})
        assert wrong.status_code == 422 and "since" in wrong.text
        params, seen = {"type": "vcp-*", "about": "blue"}, list[str]()
        headers = {"Last-Event-ID": "0"}
        async with aconnect_sse(controller.http, "GET", "/api/v1/events", params=params, headers=headers) as source:
            async for event in source.aiter_sse():
                seen.append(event.event)
                if len(seen) == 2:
                    await controller.post("/vcps", {"name": "red"})
                    await controller.post("/vcps", {"name": "blue"})
                if len(seen) == 3:
                    break
        assert seen == ["vcp-created", "vcp-removed", "vcp-created"]


async def test_a_stream_that_is_left_is_forgotten(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)
    assert (await controller.get("/cloudlets/c1"))["agent"]["connected"]
    task = await controller.follow(agent)
    await eventually(lambda: len(controller.region.agents.registry.of("c1").wakeup) == 2)
    task.cancel()
    await eventually(lambda: len(controller.region.agents.registry.of("c1").wakeup) == 1)


async def test_health_readiness_and_metrics(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    assert (await controller.http.get("/healthz")).json() == {"status": "ok"}
    ready = (await controller.http.get("/readyz")).json()
    assert ready["ready"] and ready["route_servers"] == {"rs1": True}
    text = (await controller.http.get("/metrics")).text
    assert f"weft_generation {float(controller.region.intent.generation)}" in text
    assert 'weft_route_server_in_step{name="rs1"} 1.0' in text
    assert 'route="/api/v1/cloudlets"' in text
    controller.region.stop()
    assert (await controller.http.get("/readyz")).status_code == 503


async def test_routes_come_in_pages_and_the_doctor_reads_all(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    def route(number: int) -> dict[str, object]:
        return {"family": "l2vpn-vpls", "nlri": str(number), "key": f"{number:x}", "peer": "c1", "rts": ["65000:1"]}

    route_server.routes = [route(number) for number in range(25_000)]
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = await controller.get("/routes", limit=9_000, **({"cursor": cursor} if cursor else {}))
        seen += [item["nlri"] for item in page["items"]]
        cursor, pages = page["next"], pages + 1
        assert page["truncated"] == (cursor is not None)
    assert (seen, pages) == ([str(number) for number in range(25_000)], 3)
    found = await controller.get("/doctor")
    checked, why = found["checked"], [one["text"] for one in found["differences"][:3]]
    assert (checked["adj_in"], checked["adj_out"], checked["quarantine"]) == (25_000, 25_000, 25_000), why
    problem(await controller.http.get("/api/v1/routes?cursor=x"), 422, "cursor")
    problem(await controller.http.get("/api/v1/routes?cursor=cnM5IHg%3D"), 422, "cursor")


async def test_the_looking_glass_and_the_doctor_ask_the_route_servers(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    await controller.agent("c1", 1)
    (server,) = (await controller.get("/route-servers"))["items"]
    assert server["reachable"] and server["sessions"][0]["peer"] == "c1"
    routes = await controller.get("/routes", table="adj-out", peer="c1")
    assert routes == {"items": [], "next": None, "truncated": False, "unreachable": []}
    await controller.post("/vcps", {"name": "blue"})
    await controller.get("/routes", vcp="blue", prefix="10.1.0.0/16", mac="02:00:00:00:00:01")
    asked = {"table": "adj-in", "pool": "blue", "prefix": "10.1.0.0/16", "mac": "02:00:00:00:00:01", "limit": "1000"}
    assert route_server.asked == asked
    problem(await controller.http.get("/api/v1/routes?prefix=10.1.0.1/16"), 422, "prefix")
    problem(await controller.http.get("/api/v1/routes?mac=x"), 422, "mac")
    compared = await controller.get("/routes/diff", peer="c1")
    (server,) = compared["route_servers"]
    assert (server["route_server"], server["peer"], server["compared"], server["differences"]) == ("rs1", "c1", 1, [])
    problem(await controller.http.get("/api/v1/routes/diff?peer=c9"), 422, "peer")
    explained = await controller.get("/routes/explain", **{"from": "c1-lan", "to": "c1-lan"})
    assert explained["route_servers"][0]["verdict"] == "not-sent"
    problem(await controller.http.get("/api/v1/routes/explain?from=x&to=c1-lan"), 422, "from")
    problem(await controller.http.get("/api/v1/routes?route_server=rs9"), 422, "route_server")
    found = await controller.get("/doctor")
    assert found["checked"]["reports"] == 1
    where = {difference["where"] for difference in found["differences"]}
    assert where == {"Adj-RIB-In of rs1", "BGP at c1"}, "the fakes speak no BGP"


async def test_the_doctor_compares_releases(controller: Controller, route_server: FakeRouteServer) -> None:
    agent = await controller.agent("c1", 1)
    own = controller.region.replication.replicas
    own.release = "1.4.0"
    route_server.version = "1.2.9"
    report = kernel(agent.documents[-1]).model_copy(update={"agent_version": "1.5.0", "understands": ["desired"]})
    await agent.report(report)
    found = [one for one in (await controller.get("/doctor"))["differences"] if one["subject"] == "release"]
    assert [(one["kind"], one["where"], one["found"]) for one in found] == [
        ("release-skew", "route server rs1", "1.2.9"),
        ("release-skew", "agent of c1", "1.5.0"),
    ]
    await agent.report(report.model_copy(update={"agent_version": "1.3.2"}))
    route_server.version = "1.5.0"
    found = (await controller.get("/doctor"))["differences"]
    assert not [one for one in found if one["kind"] in ("release-skew", "agent-too-old")]


async def test_questions_to_the_looking_glass_are_checked(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    for query, field in (
        ("routes?table=adj-in&reason=no-rt", "reason"),
        ("routes?table=quarantine&reason=bored", "reason"),
        ("routes/diff?from=1", "to"),
        ("routes/diff?to=1", "from"),
        ("routes/diff?from=-1&to=2", "from"),
        ("routes/diff", "peer"),
        ("routes/watch?mac=x", "mac"),
        ("routes/watch?route_server=rs9", "route_server"),
    ):
        problem(await controller.http.get(f"/api/v1/{query}"), 422, field)
    await controller.post("/vcps", {"name": "blue"})
    await controller.get("/routes", table="quarantine", reason="no-rt", vcp="blue", prefix="10.0.0.0/8")
    asked = {"table": "quarantine", "reason": "no-rt", "pool": "blue", "prefix": "10.0.0.0/8", "limit": "1000"}
    assert route_server.asked == asked
