"""Encrypted tunnels: the reports of agents, the view of users, and the alarms."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.agents import tunnels as work
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.tunnels import ALARM, Word, pair, peers, turns
from controller.db import tunnels as tunnel_table
from controller.wire.flavours import Flavour
from controller.wire.tunnels import Ipsec, IpsecTunnel
from lab.patience import eventually
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.test_tokens import holder

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def tunnel(peer: str, state: str = "up", age: float = 60.0, **more: Any) -> IpsecTunnel:
    number = peer.removeprefix("c")
    return IpsecTunnel.model_validate(
        {"cloudlet": peer, "local": "192.0.2.9", "remote": f"192.0.2.{number}", "state": state, "age": age, **more}
    )


async def told(controller: Controller, agent: FakeAgent, *tunnels: IpsecTunnel, **more: Any) -> None:
    """Send an agent's report; wait until it is stored."""
    report = kernel(agent.documents[-1]).model_copy(update={"ipsec": Ipsec(tunnels=list(tunnels), **more)})
    answer = await agent.report(report)
    assert answer.status_code == 204, answer.text
    await controller.region.agents.tunnels.flush()


async def three(controller: Controller) -> list[FakeAgent]:
    """Three agents; c1 and c2 share a pool."""
    agents = [await controller.agent(f"c{number}", number) for number in (1, 2, 3)]
    await controller.post("/vcps", {"name": "blue"})
    for name in ("c1-lan", "c2-lan"):
        await controller.post("/vcps/blue/members", {"endpoint": name})
    for agent in agents[:2]:
        await agent.document(controller.region.intent.generation)
    return agents


async def listed(controller: Controller, **query: Any) -> dict[tuple[str, str], Any]:
    return {(t["cloudlet"], t["peer"]): t for t in (await controller.get("/tunnels", **query))["items"]}


async def events(controller: Controller) -> list[dict[str, Any]]:
    event_log = controller.region.runtime.event_log
    await eventually(lambda: event_log._queue.empty() and not event_log._batch)
    kinds = ("tunnel-", "plaintext-")
    return [e for e in (await controller.get("/events", limit=1000))["items"] if e["type"].startswith(kinds)]


async def test_a_flush_waits_for_what_is_being_written(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _, _ = await three(controller)
    saved, begun, go_on = tunnel_table.save, asyncio.Event(), asyncio.Event()

    async def slowly(*arguments: Any) -> None:
        begun.set()
        await go_on.wait()
        await saved(*arguments)

    monkeypatch.setattr(tunnel_table, "save", slowly)
    telling = asyncio.create_task(told(controller, one, tunnel("c2")))
    await begun.wait()
    flushing = asyncio.create_task(controller.region.agents.tunnels.flush())
    await asyncio.sleep(0.05)
    early = flushing.done()
    go_on.set()
    await asyncio.gather(telling, flushing)
    assert not early
    assert list(await listed(controller)) == [("c1", "c2")]


async def test_the_last_word_of_each_end_is_shown(controller: Controller) -> None:
    one, two, _ = await three(controller)
    full = tunnel("c2", ike="AES_GCM_16_256/X", esp="AES_GCM_16_256", keyed=10, rekey=3000, bytes_in=5, packets_out=7)
    await told(controller, one, full)
    await told(controller, two, tunnel("c1", "connecting", 1.0, why="the peer does not answer", dropped_out=3))
    found = await listed(controller)
    assert list(found) == [("c1", "c2"), ("c2", "c1")] and all(t["needed"] for t in found.values())
    shown = await controller.get("/tunnels/c1/c2")
    assert shown == found["c1", "c2"] and shown["alarm"] is None and shown["why"] is None
    assert (shown["state"], shown["ike"], shown["esp"]) == ("up", full.ike, full.esp)
    assert (shown["bytes_in"], shown["packets_out"]) == (5, 7)
    moments = {name: datetime.fromisoformat(shown[name]) for name in ("since", "keyed_at", "at", "rekey_at")}
    assert moments["at"] - moments["since"] == timedelta(seconds=60)
    assert moments["rekey_at"] - moments["keyed_at"] == timedelta(seconds=3010)
    other = found["c2", "c1"]
    assert (other["state"], other["why"], other["dropped_out"]) == ("connecting", "the peer does not answer", 3)
    await told(controller, one, tunnel("c2", age=60.5))
    again = await controller.get("/tunnels/c1/c2")
    assert again["since"] == shown["since"] and again["at"] > shown["at"], "the same moment, said again"
    await told(controller, one, tunnel("c2", age=3.0))
    assert (await controller.get("/tunnels/c1/c2"))["since"] > shown["since"], "it came anew meanwhile"
    await told(controller, one)
    assert list(await listed(controller)) == [("c2", "c1")]
    problem(await controller.http.get("/api/v1/tunnels/c1/c2"), 404)


async def test_filters_and_pages(controller: Controller) -> None:
    one, two, _ = await three(controller)
    await told(controller, one, tunnel("c2"), tunnel("c3", "down"))
    await told(controller, two, tunnel("c1", "down"))
    assert list(await listed(controller, cloudlet="c1")) == [("c1", "c2"), ("c1", "c3")]
    assert list(await listed(controller, peer="c1")) == [("c2", "c1")]
    assert list(await listed(controller, state="down")) == [("c1", "c3"), ("c2", "c1")]
    assert not (await listed(controller))["c1", "c3"]["needed"]
    first = await controller.get("/tunnels", limit=2)
    rest = await controller.get("/tunnels", limit=2, cursor=first["next"])
    assert [t["peer"] for t in first["items"] + rest["items"]] == ["c2", "c3", "c1"] and rest["next"] is None
    problem(await controller.http.get("/api/v1/tunnels", params={"cursor": "nonsense"}), 422, "cursor")


async def test_nothing_is_said_of_who_is_not_there_and_nothing_by_who_does_not_encrypt(controller: Controller) -> None:
    one, *_ = await three(controller)
    await told(controller, one, tunnel("c2"), tunnel("c99"), tunnel("c2", "down"))
    assert list(await listed(controller)) == [("c1", "c2")]
    await one.report(kernel(one.documents[-1]))
    await controller.region.agents.tunnels.flush()
    assert await listed(controller) == {}


async def test_what_an_agent_says_is_no_more_than_text(controller: Controller) -> None:
    one, *_ = await three(controller)
    await told(controller, one, tunnel("c2", "down", why="\x00\x1b[31m'; DROP TABLE tunnels", esp="\ud7ff\x00"))
    assert "\x00" not in (await controller.get("/tunnels/c1/c2"))["why"]


async def test_a_tunnel_that_is_missing_is_an_alarm_until_it_is_back(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = await three(controller)
    sweep = controller.region.agents.tunnels.sweep
    await told(controller, one, tunnel("c2", "down", 1.0, why="the peer does not answer"))
    await sweep()
    assert await events(controller) == [], "it is being made"
    await told(controller, one, tunnel("c2", "down", 30.0, why="the peer does not answer"))
    await told(controller, two, tunnel("c1", "down", 31.0), tunnel("c3", "down", 99.0))
    await sweep()
    await sweep()
    [event] = await events(controller)
    assert (event["type"], event["subject"]) == ("tunnel-down", "c1 c2")
    assert "c1 and c2" in event["text"] and "(c1: the peer does not answer)" in event["text"]
    assert list(await listed(controller, alarm=True)) == [("c1", "c2"), ("c2", "c1")]
    assert list(await listed(controller, alarm=False)) == [("c2", "c3")], "nobody needs that one"
    metrics = (await controller.http.get("/metrics")).text
    assert "weft_tunnel_alarms 1.0" in metrics and 'weft_tunnels{state="down"} 3.0' in metrics
    await told(controller, one, tunnel("c2", age=0.5))
    await sweep()
    assert len(await events(controller)) == 1, "one end is not the tunnel"
    await told(controller, two, tunnel("c1", age=0.5))
    await sweep()
    assert [e["type"] for e in await events(controller)] == ["tunnel-down", "tunnel-up"]
    assert list(await listed(controller, alarm=True)) == []


async def test_an_alarm_is_over_when_nobody_needs_the_tunnel(controller: Controller) -> None:
    one, *_ = await three(controller)
    await told(controller, one, tunnel("c2", "down"))
    await controller.region.agents.tunnels.sweep()
    await controller.delete("/vcps/blue/members/c2-lan")
    await controller.region.agents.tunnels.sweep()
    assert [e["type"] for e in await events(controller)] == ["tunnel-down", "tunnel-unneeded"]
    await controller.delete("/endpoints/c1-lan")
    await controller.delete("/cloudlets/c1")
    controller.region.agents.tunnels._turn = 0
    await controller.region.agents.tunnels.sweep()
    assert await listed(controller) == {}


async def test_what_the_guard_has_dropped_is_told_now_and_then(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, *_ = await three(controller)
    await told(controller, one, tunnel("c2", dropped_out=5), dropped_out=5)
    assert await events(controller) == [], "nothing is known of before"
    await told(controller, one, tunnel("c2", dropped_out=9), dropped_out=9, dropped_in=1)
    await told(controller, one, tunnel("c2", dropped_out=29), dropped_out=29, dropped_in=1)
    [event] = await events(controller)
    assert (event["type"], event["subject"]) == ("plaintext-dropped", "c1")
    assert event["data"] == {"out": 4, "in": 1, "peers": ["c2"]}
    monkeypatch.setattr(work, "QUIET", 0.0)
    await told(controller, one, tunnel("c2", dropped_out=2), dropped_out=2)
    assert (await events(controller))[-1]["data"]["out"] == 22, "20 that were not told, and 2 since it was booted"
    metrics = (await controller.http.get("/metrics")).text
    assert 'weft_tunnel_plaintext_dropped_total{direction="out"} 26.0' in metrics


async def test_what_goes_through_is_counted(controller: Controller) -> None:
    one, *_ = await three(controller)
    for sent in (1000, 1500, 100):
        await told(controller, one, tunnel("c2", bytes_out=sent, packets_out=sent // 100))
    metrics = (await controller.http.get("/metrics")).text
    assert 'weft_tunnel_bytes_total{direction="out"} 600.0' in metrics, "500 more, and 100 since it began anew"
    assert 'weft_tunnel_packets_total{direction="out"} 6.0' in metrics


async def test_the_database_may_be_away(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that could not be stored is stored when the agent sends it again."""
    one, *_ = await three(controller)

    async def fail(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(tunnel_table, "save", fail)
        await told(controller, one, tunnel("c2"))
    assert await listed(controller) == {}
    await told(controller, one, tunnel("c2"))
    assert list(await listed(controller)) == [("c1", "c2")]


async def test_it_is_written_down_by_itself(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE", 0.01)
    one, *_ = await three(controller)
    controller.region.agents.tunnels.take("c1", Ipsec(tunnels=[tunnel("c2")]))

    async def there() -> bool:
        return bool(await listed(controller))

    await eventually(there)
    assert one.documents


async def test_viewers_see_them_and_tenants_do_not(controller: Controller) -> None:
    one, *_ = await three(controller)
    await told(controller, one, tunnel("c2"))
    viewer = await holder(controller, "looker", "viewer")
    assert (await viewer.get("/api/v1/tunnels")).json()["items"][0]["peer"] == "c2"
    tenant = await holder(controller, "portal", "tenant", tenant="alpha")
    for path in ("/api/v1/tunnels", "/api/v1/tunnels/c1/c2"):
        assert (await tenant.get(path)).status_code == 403


# --- Decisions


def region(pools: list[set[int]]) -> Intent:
    """Return an intent of six cloudlets with an endpoint each."""
    numbers = range(1, 7)
    cloudlets = {
        f"c{n}": Cloudlet(name=f"c{n}", state=CloudletState.ACTIVE, pe=Flavour.VPLS, vtep=f"192.0.2.{n}")
        for n in numbers
    }
    endpoints = {
        f"e{n}": Endpoint(
            name=f"e{n}", cloudlet=f"c{n}", index=1, site=n, prefix=f"10.{n}.0.0/24", gateway=f"10.{n}.0.1"
        )
        for n in numbers
    }
    vcps = {
        f"v{i}": Vcp(name=f"v{i}", flavour=Flavour.VPLS, members=frozenset(f"e{n}" for n in pool))
        for i, pool in enumerate(pools)
    }
    return Intent(generation=1, cloudlets=cloudlets, endpoints=endpoints, vcps=vcps)


numbers = st.integers(1, 6)
words = st.dictionaries(
    st.tuples(numbers, numbers).filter(lambda p: p[0] != p[1]),
    st.tuples(st.booleans(), st.integers(0, 20)),
    max_size=12,
)
pairs = st.frozensets(st.tuples(numbers, numbers).filter(lambda p: p[0] < p[1]), max_size=4)


@given(st.lists(st.sets(numbers), max_size=3), words, pairs)
def test_alarms_are_of_tunnels_that_are_needed_and_missing(
    pools: list[set[int]], said: dict[tuple[int, int], tuple[bool, int]], on: frozenset[tuple[int, int]]
) -> None:
    intent, raised = region(pools), {(f"c{a}", f"c{b}") for a, b in on}
    spoken = [Word(f"c{a}", f"c{b}", up, NOW - timedelta(seconds=s)) for (a, b), (up, s) in said.items()]
    heard = [word for word in spoken if not word.up or word.pair in raised]
    alarms = set(raised)
    for turn in turns(intent, heard, raised, NOW):
        if turn.what == "down":
            assert turn.pair not in alarms
            alarms.add(turn.pair)
        else:
            alarms.remove(turn.pair)
    for a in range(1, 7):
        for b in range(a + 1, 7):
            both = f"c{a}", f"c{b}"
            needed = any({a, b} <= pool for pool in pools)
            ends = [word for word in spoken if word.pair == both]
            missing = [word for word in ends if not word.up]
            long = any(NOW - word.since > ALARM for word in missing)
            assert (both in alarms) == (needed and bool(missing) and (long or both in raised))
            assert (both[1] in peers(intent, both[0])) == (both[0] in peers(intent, both[1])) == needed
    assert list(turns(intent, [w for w in spoken if not w.up or w.pair in alarms], alarms, NOW)) == [], "once is enough"


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_pair_has_one_name(one: str, other: str) -> None:
    assert pair(one, other) == pair(other, one)
