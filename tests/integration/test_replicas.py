"""Two controllers on one PostgreSQL, as processes that are killed and cut off: no answered change is lost, none is made
twice, and all answered changes are in the route servers."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from httpx_sse import aconnect_sse

from tests.integration.pair_region import Json
from tests.integration.replica_region import DATABASE, Replica, ReplicaRegion, replica_region
from tests.postgres import Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as server:
        server.create(DATABASE)
        yield server


@pytest.fixture
async def region(tmp_path: Path, cluster: Cluster) -> AsyncIterator[ReplicaRegion]:
    async with replica_region(tmp_path, cluster) as running:
        yield running


async def watch(replica: Replica, after: int, seen: list[tuple[int, str, str]]) -> None:
    """Append the events of the stream after event `after` to `seen`."""
    headers = {"Last-Event-ID": str(after)}
    async with aconnect_sse(replica.http, "GET", "/api/v1/events", headers=headers, timeout=None) as source:
        async for event in source.aiter_sse():
            seen.append((int(event.id), event.event, event.json()["subject"]))


def pools(rules: Json) -> set[str]:
    return {vcp["name"] for vcp in rules["vcps"]}


@pytest.mark.smoke
async def test_changes_at_both(region: ReplicaRegion) -> None:
    a, b = region.replicas
    await a.agent("c1", 1)
    await b.agent("c2", 2)
    before = int((await a.ready())["generation"])
    streams: dict[str, list[tuple[int, str, str]]] = {"a": [], "b": []}
    watchers = [asyncio.create_task(watch(r, 0, streams[r.name])) for r in region.replicas]

    # Many changes at once over both replicas: each has a generation of its own, and all are in both route servers.
    async def found(replica: Replica, number: int) -> None:
        name = f"{replica.name}{number}"
        await replica.post("/vcps", {"name": name})
        joined = await replica.post(f"/vcps/{name}/members", {"endpoint": f"c{1 + number % 2}-lan"})
        assert not joined["unreachable"], joined

    await asyncio.gather(*(found(r, n) for r in region.replicas for n in range(6)))
    rules = await region.agree(a)
    assert pools(rules) == {f"{r}{n}" for r in "ab" for n in range(6)} and rules["generation"] == before + 24
    causes = [c["cause"] for c in (await b.get("/changes", limit=100))["items"]][:24]
    assert len(set(causes)) == 24
    for replica in region.replicas:
        assert (await replica.ready())["generation"] == before + 24

    # A change that concerns agents at both is in force when both have proved it.
    await a.post("/vcps", {"name": "blue"})
    await a.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    for replica, verb in ((a, "join"), (b, "leave"), (b, "join")):
        if verb == "join":
            done = await replica.post("/vcps/blue/members", {"endpoint": "c2-lan"})
        else:
            done = (await replica.http.delete("/api/v1/vcps/blue/members/c2-lan")).json()
        assert done["in_force"], done
        assert {agent["cloudlet"] for agent in done["agents"] if agent["after_ms"]} == {"c1", "c2"}
    for replica in region.replicas:
        listed = {c["name"]: c["agent"] for c in (await replica.get("/cloudlets"))["items"]}
        assert all(agent["connected"] for agent in listed.values()), listed
        told = await replica.get("/doctor")
        assert told["checked"]["reports"] == 2 and told["replica"] == replica.name and told["leader"] in ("a", "b")
        assert not [d for d in told["differences"] if d["where"].startswith("route server")], told

    # Events: all of them once, in one order, at either.
    async def caught_up() -> bool:
        return bool(streams["a"]) and streams["a"][-1] == streams["b"][-1]

    await asyncio.sleep(0.3)
    await region.eventually(caught_up, "both streams at the same event")
    for task in watchers:
        task.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)
    ids = [number for number, _, _ in streams["a"]]
    assert streams["a"] == streams["b"] and ids == sorted(set(ids))
    assert len([1 for _, kind, _ in streams["a"] if kind == "vcp-created"]) == 13
    kinds = [(kind, subject) for _, kind, subject in streams["a"] if kind.startswith("route-server")]
    assert sorted(kinds) == [("route-server-reachable", f"rs{i}") for i in (1, 2)], "said by one, and never away"

    # Two operators at once: if both have seen the same pool, one is refused; joining twice is refused as usual.
    seen = (await a.http.get("/api/v1/vcps/blue")).headers["etag"]
    url, headers = "/api/v1/vcps/blue/members/c2-lan", {"If-Match": seen}
    both = await asyncio.gather(*(r.http.delete(url, headers=headers) for r in region.replicas))
    assert sorted(answer.status_code for answer in both) == [200, 412]
    body = {"endpoint": "c2-lan"}
    both = await asyncio.gather(*(r.http.post("/api/v1/vcps/blue/members", json=body) for r in region.replicas))
    assert sorted(answer.status_code for answer in both) == [201, 409]


@pytest.mark.slow
async def test_a_trial_is_everybodys(region: ReplicaRegion) -> None:
    leader, other = await region.leader()
    await leader.agent("c1", 1)
    await other.agent("c2", 2)
    await other.post("/vcps", {"name": "blue"})
    await other.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    path = "/vcps/blue/members?confirm_within={}"

    async def known() -> bool:
        return all(cloudlet["agent"]["connected"] for cloudlet in (await other.get("/cloudlets"))["items"])

    await region.eventually(known, "an agent that is connected elsewhere")
    tried = await other.post(path.format(60), {"endpoint": "c2-lan"})
    assert tried["in_force"] and tried["confirm_by"], tried
    refused = await leader.http.post("/api/v1/vcps", json={"name": "green"})
    assert refused.status_code == 409 and "on trial" in refused.text
    assert (await leader.post(f"/changes/{tried['generation']}/confirm"))["in_force"]
    for replica in region.replicas:
        assert (await replica.get(f"/changes/{tried['generation']}"))["state"] == "confirmed"
    assert (await other.http.post(f"/api/v1/changes/{tried['generation']}/rollback")).status_code == 409
    left = (await leader.http.delete("/api/v1/vcps/blue/members/c2-lan")).json()
    assert left["in_force"] and not left["confirm_by"]

    # The leader keeps the time; when it dies, its successor does.
    tried = await other.post(path.format(4), {"endpoint": "c2-lan"})
    leader.daemon.kill()

    async def rolled_back() -> bool:
        return bool((await other.get(f"/changes/{tried['generation']}"))["state"] == "rolled-back")

    took = await region.eventually(rolled_back, "a trial that ends", 12)
    assert took > 2, "before its time"
    assert await other.members("blue") == ["c1-lan"]
    rules = await region.agree(other)
    assert [vcp["members"] for vcp in rules["vcps"]] == [["c1-lan"]]
    told = [e for e in (await other.get("/events", limit=1000))["items"] if e["type"] == "change-rolled-back"]
    assert len(told) == 1


class Operators:
    """Operators who make one change after another at whichever replica answers, and repeat each until it is answered.
    `answered` has the changes by key."""

    def __init__(self, region: ReplicaRegion) -> None:
        self._region = region
        self.answered: dict[str, int] = {}
        self.longest = 0.0
        self.stop = False

    async def work(self, who: str, first: Replica) -> None:
        number, at = 0, first
        while not self.stop:
            name, started = f"{who}{number}", time.monotonic()
            while True:
                try:
                    answer = await at.http.post(
                        "/api/v1/vcps", json={"name": name}, headers={"Idempotency-Key": name}, timeout=15
                    )
                except httpx.HTTPError:
                    answer = None
                if answer is not None and answer.status_code == 201:
                    break
                assert answer is None or answer.status_code in (409, 503), answer.text
                assert answer is None or answer.status_code == 503 or "under way" in answer.text, answer.text
                at = self._region.b if at is self._region.a else self._region.a
                await asyncio.sleep(0.05)
            self.longest = max(self.longest, time.monotonic() - started)
            self.answered[name] = answer.status_code
            number += 1
            await asyncio.sleep(0.01)


async def nothing_lost(region: ReplicaRegion, operators: Operators, replica: Replica) -> None:
    """Check that every answered change is there, once, in the database, in the events and in the route servers."""
    there = pools(await region.agree(replica))
    assert operators.answered.keys() <= there, operators.answered.keys() - there
    events: list[str] = []
    after = 0
    while True:
        page = await replica.get("/events", after=after, limit=1000)
        events += [e["subject"] for e in page["items"] if e["type"] == "vcp-created"]
        if page["next"] is None:
            break
        after = int(page["next"])
    assert sorted(events) == sorted(there), "made twice, or not written down"


async def test_the_leader_is_killed_under_a_stream_of_changes(region: ReplicaRegion) -> None:
    leader, other = await region.leader()
    agent = await leader.agent("c1", 1)
    operators = Operators(region)
    tasks = [asyncio.create_task(operators.work(f"o{n}-", region.replicas[n % 2])) for n in range(4)]
    await asyncio.sleep(1)
    leader.daemon.kill()
    took = await region.eventually(other.leads, "another leader")
    print(f"another replica led {took:.2f} s after the leader was killed")
    assert took < 5
    agent.http = other.http  # like an agent with several addresses
    await asyncio.sleep(1.5)
    leader.daemon.start()
    await region.eventually(leader.is_ready, "the one that was killed is ready again")
    await asyncio.sleep(0.5)
    operators.stop = True
    await asyncio.gather(*tasks)
    await region.eventually(region.whole, "both in step again")
    print(f"{len(operators.answered)} changes, the longest waited {operators.longest:.2f} s")
    for replica in region.replicas:
        await nothing_lost(region, operators, replica)

    # A replica that does not lead is killed in the middle of changes.
    leader, other = await region.leader()
    more = Operators(region)
    tasks = [asyncio.create_task(more.work(f"p{n}-", other)) for n in range(3)]
    for _ in range(2):
        await asyncio.sleep(0.7)
        other.daemon.kill()
        await asyncio.sleep(0.3)
        other.daemon.start()
        await region.eventually(other.is_ready, "the one that was killed is ready again")
    more.stop = True
    await asyncio.gather(*tasks)
    await region.eventually(region.whole, "both in step again")
    more.answered |= operators.answered
    await nothing_lost(region, more, leader)


@pytest.mark.smoke
async def test_a_repetition_elsewhere_gets_the_first_answer(region: ReplicaRegion) -> None:
    a, b = region.replicas
    for number in (1, 2):
        await b.agent(f"c{number}", number)
    await b.post("/vcps", {"name": "blue"})
    await b.post("/vcps/blue/members", {"endpoint": "c2-lan"})
    headers = {"Idempotency-Key": "join-c1"}

    async def join(replica: Replica) -> httpx.Response:
        return await replica.http.post(
            "/api/v1/vcps/blue/members", json={"endpoint": "c1-lan"}, headers=headers, timeout=20
        )

    # While the first is still at work: the second waits for it.
    for way in a.ways.values():
        way.freeze()
    first = asyncio.create_task(join(a))

    async def made() -> bool:
        return await b.members("blue") == ["c1-lan", "c2-lan"]

    await region.eventually(made, "the change")
    second = asyncio.create_task(join(b))
    await asyncio.sleep(0.3)
    assert not second.done()
    one, two = await first, await second
    assert one.status_code == two.status_code == 201 and one.json() == two.json()
    assert two.headers["idempotency-replayed"] == "true"

    # A replica is killed between commit and answer: the other gives the same answer.
    for way in a.ways.values():
        way.heal()
    await region.eventually(region.whole, "both in step")
    await b.http.delete("/api/v1/vcps/blue/members/c1-lan")
    headers["Idempotency-Key"] = "join-again"
    for way in a.ways.values():
        way.freeze()
    lost = asyncio.create_task(join(a))
    await region.eventually(made, "the change")
    a.daemon.kill()
    with pytest.raises(httpx.HTTPError):
        await lost
    answer = await join(b)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert told["in_force"] and [agent["confirmed"] for agent in told["agents"]] == [True, True], told
    changes = (await b.get("/changes"))["items"]
    assert [c["cause"] for c in changes if c["generation"] == told["generation"]] == ["c1-lan joined blue"]
    assert sum(c["cause"] == "c1-lan joined blue" for c in changes) == 2, "one for each key"
    again = await join(b)
    assert again.json() == told and again.headers["idempotency-replayed"] == "true"
    rules = await region.agree(b)
    assert [vcp["members"] for vcp in rules["vcps"]] == [["c1-lan", "c2-lan"]]


@pytest.mark.slow
async def test_the_database_goes_and_comes_back(region: ReplicaRegion) -> None:
    operators = Operators(region)
    tasks = [asyncio.create_task(operators.work(f"o{n}-", region.replicas[n % 2])) for n in range(4)]
    await asyncio.sleep(0.7)
    await asyncio.to_thread(region.cluster.stop, signal.SIGQUIT)
    assert await region.leaders() == 0

    async def unready() -> bool:
        return not any([(await r.ready()).get("ready") for r in region.replicas])

    await region.eventually(unready, "both not ready")
    await asyncio.to_thread(region.cluster.start)
    answered = len(operators.answered)

    async def go_on() -> bool:
        return len(operators.answered) >= answered + 20

    took = await region.eventually(go_on, "changes go on")
    print(f"20 changes {took:.2f} s after PostgreSQL was back")
    operators.stop = True
    await asyncio.gather(*tasks)
    # Only now: while changes go through one replica, the other is one generation behind.
    await region.eventually(region.whole, "both in step again")
    for replica in region.replicas:
        await nothing_lost(region, operators, replica)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cut", "freeze"])
async def test_a_leader_without_its_database_leads_no_longer(region: ReplicaRegion, how: str) -> None:
    leader, other = await region.leader()
    agent = await leader.agent("c1", 1)
    await other.agent("c2", 2)
    await other.post("/vcps", {"name": "blue"})
    await other.post("/vcps/blue/members", {"endpoint": "c2-lan"})
    getattr(leader.database, how)()

    async def resigned() -> bool:
        assert await region.leaders() <= 1
        return not await leader.leads()

    took = await region.eventually(resigned, "the leader resigns")
    print(f"{how}: it led {took:.2f} s more")
    assert took < 5
    if how == "freeze":
        leader.database.cut()  # nothing else closes the frozen connection here
    await region.eventually(other.leads, "another leader")
    joined = await other.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    assert not joined["unreachable"] and not joined["in_force"]
    assert {agent["cloudlet"]: agent["confirmed"] for agent in joined["agents"]} == {"c1": False, "c2": True}
    refused = await leader.http.post("/api/v1/vcps", json={"name": "green"}, timeout=60)
    assert refused.status_code == 503, refused.text
    leader.database.heal()
    await region.eventually(region.whole, "both in step again")
    assert (await leader.ready())["generation"] == (await other.ready())["generation"]
    document = await agent.document(int(joined["generation"]))  # the document that it has missed
    assert document.generation == joined["generation"]
    assert (await leader.post("/vcps", {"name": "green"}))["name"] == "green"
    assert pools(await region.agree(other)) == {"blue", "green"}
