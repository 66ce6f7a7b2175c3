"""Agents receive filters before the desired state that goes with them, and the API shows their counters."""

import asyncio
from typing import get_args

from hypothesis import given

from controller.agents.impostors import EVENTS
from controller.core.filters import concerned, filters, pools
from controller.core.intent import Intent
from controller.wire.access import Access, Impostor
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.test_access import regions

HEAD = "apiVersion: weft/v1\nvcps: {blue: {members: [c1-lan, c2-lan]}}\n"
CLOSED = f"{HEAD}access: {{blue: [{{name: no-ssh, action: drop, to: [c2-lan], protocols: [tcp], ports: [22]}}]}}\n"
SSH = {"family": "ipv4-flowspec", "nlri": "1001180a020002180a0100038106058116", "actions": ["8006000000000000"]}


async def apply(controller: Controller, text: str) -> None:
    headers = {"content-type": "application/yaml"}
    answer = await controller.http.post("/api/v1/policy/apply", content=text, headers=headers)
    assert answer.status_code == 200, answer.text


async def heard(agent: FakeAgent, many: int) -> Access:
    async with asyncio.timeout(10), agent.came:
        await agent.came.wait_for(lambda: len(agent.access) >= many)
    return agent.access[many - 1]


async def test_agents_hear_of_rules_when_these_change(controller: Controller) -> None:
    agents = [await controller.agent(f"c{n}", n) for n in (1, 2)]
    assert [(await heard(agent, 1)).lans for agent in agents] == [[], []], (
        "that there is nothing, since there may have been"
    )
    await apply(controller, CLOSED)
    document = await heard(agents[1], 2)
    assert [(lan.endpoint, [one.model_dump() for one in lan.filters]) for lan in document.lans] == [("c2-lan", [SSH])]
    versions = [seen.version for seen in agents[1].documents]
    assert document.version == versions[-1], "it goes with the desired state that has the remote"
    await apply(controller, CLOSED.replace("22", "23"))
    assert (await heard(agents[1], 3)).lans != document.lans
    assert [seen.version for seen in agents[1].documents] == versions, "the desired state is as it was"
    await apply(controller, HEAD)
    assert (await heard(agents[1], 4)).lans == []
    assert len(agents[0].access) == 1, "nothing of it concerns the other one"


async def test_rules_come_ahead_of_the_tunnel_that_they_are_about(controller: Controller) -> None:
    for n in (1, 2):
        await controller.cloudlet(f"c{n}", n)
    await apply(controller, CLOSED)
    agent = await controller.agent("c3", 3)
    await apply(controller, CLOSED.replace("c1-lan, ", "c1-lan, c3-lan, ").replace("to: [c2-lan]", "to: [c3-lan]"))
    await heard(agent, 2)
    async with asyncio.timeout(10), agent.came:
        await agent.came.wait_for(lambda: bool(agent.documents[-1].endpoints[0].remotes))
    order = [kind for kind in agent.order if kind in ("access", "desired")]
    assert order == ["access", "desired", "access", "desired"]


async def test_a_further_pool_is_heard_of_though_no_tunnel_changes(controller: Controller) -> None:
    agents = [await controller.agent(f"c{n}", n) for n in (1, 2)]
    text = "apiVersion: weft/v1\nvcps: {blue: {members: [c1-lan, c2-lan]}, red: {members: [c1-lan]}}\n"
    text += "access: {red: [{name: shut, action: drop}]}\n"
    await apply(controller, text)
    assert len(agents[1].access) == 1
    await apply(controller, text.replace("members: [c1-lan]", "members: [c1-lan, c2-lan]"))
    assert [lan.endpoint for lan in (await heard(agents[1], 2)).lans] == ["c2-lan"]


async def test_what_is_counted_is_shown(controller: Controller) -> None:
    agent = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await apply(controller, CLOSED)
    shown = (await controller.get("/filters"))["items"]
    assert [(s["endpoint"], s["specification"], s["in_kernel"], s["packets"]) for s in shown] == [
        ("c2-lan", "from 10.1.0.0/24 to 10.2.0.0/24, protocol 6, port 22: drop", None, None)
    ]
    counted = {
        "endpoint": "c2-lan",
        "family": SSH["family"],
        "nlri": SSH["nlri"],
        "packets": 7,
        "bytes": 420,
        "dropped": 7,
    }
    for said in ([], [counted], [counted]):
        body = {"cloudlet": "c2", "filters": said}
        answer = await controller.http.post("/api/v1/agent/access", json=body, headers=agent[1].headers)
        assert answer.status_code == 204, answer.text
        (item,) = (await controller.get("/filters", endpoint="c2-lan"))["items"]
        assert item["in_kernel"] is bool(said)
        assert item["dropped"] == (7 if said else None)
    assert (await controller.get("/filters", endpoint="c1-lan"))["items"] == []
    problem(await controller.http.post("/api/v1/agent/access", json=body, headers=agent[0].headers), 403)
    body["filters"] = [counted | {"packets": -1}]
    problem(await controller.http.post("/api/v1/agent/access", json=body, headers=agent[1].headers), 422)


async def test_pages(controller: Controller) -> None:
    for n in (1, 2, 3):
        await controller.cloudlet(f"c{n}", n)
    text = HEAD.replace("c2-lan", "c2-lan, c3-lan") + "access: {blue: [{name: no, action: drop}]}\n"
    await apply(controller, text)
    whole = (await controller.get("/filters"))["items"]
    assert [(one["endpoint"], one["number"]) for one in whole] == [(f"c{n}-lan", i) for n in (1, 2, 3) for i in (0, 1)]
    items, cursor = [], None
    while True:
        page = await controller.get("/filters", limit=1, **({"cursor": cursor} if cursor else {}))
        items += page["items"]
        if (cursor := page["next"]) is None:
            break
    assert items == whole


@given(regions, regions)
def test_who_is_not_concerned_filters_as_before(before: Intent, after: Intent) -> None:
    who = concerned(before, after)
    old, new = filters(before), filters(after)
    for name, endpoint in after.endpoints.items():
        if endpoint.cloudlet not in who:
            assert old.get(name) == new.get(name)
            assert pools(before, [name]) == pools(after, [name])


def test_each_kind_of_impostor_has_an_event() -> None:
    assert EVENTS.keys() == set(get_args(Impostor))


async def test_impostors_are_told_now_and_then(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)

    async def say(**packets: int) -> list[str]:
        dropped = [
            {"endpoint": None if what in ("vxlan", "vni") else "c1-lan", "what": what, "packets": n}
            for what, n in packets.items()
        ]
        body = {"cloudlet": "c1", "filters": [], "dropped": dropped}
        answer = await controller.http.post("/api/v1/agent/access", json=body, headers=agent.headers)
        assert answer.status_code == 204, answer.text
        await asyncio.sleep(0.3)
        events = (await controller.get("/events", limit=1000))["items"]
        return [e["text"] for e in events if e["type"] in ("rogue-dhcp", "vxlan-injected")]

    dhcp = "c1-lan: somebody at an access port speaks as a DHCP server; 2 packets dropped"
    vxlan = "c1: VXLAN came from somebody who shares no pool with it; 1 packets dropped"
    assert await say(dhcp=2) == [dhcp]
    assert await say(dhcp=5) == [dhcp], "not with every packet"
    assert await say(dhcp=5, vxlan=1) == [dhcp, vxlan]
    vni = "c1: VXLAN came from the VTEP of a peer, with the VNI of a tunnel that is not that peer's; 3 packets dropped"
    assert await say(dhcp=5, vxlan=1, vni=3) == [dhcp, vxlan, vni]
