"""Endpoints that are changed: through the API to route servers, agents, other replicas and the database."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from controller.core.clock import now
from controller.core.rulesets import rule_set
from controller.db import blocks, delegations, pairs
from controller.db.endpoints import EndpointRow
from controller.db.leases import LeaseRow
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer

LAN = "/api/v1/endpoints/c1-lan"


async def patch(controller: Controller, body: dict[str, Any], path: str = LAN, **query: Any) -> httpx.Response:
    headers = {"If-Match": query.pop("tag")} if "tag" in query else {}
    return await controller.http.patch(path, json=body, params=query, headers=headers)


async def done(controller: Controller, body: dict[str, Any], path: str = LAN, **query: Any) -> Any:
    answer = await patch(controller, body, path, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def joined(controller: Controller, *names: str) -> None:
    await controller.post("/vcps", {"name": "blue"})
    for name in names:
        await controller.post("/vcps/blue/members", {"endpoint": name})


async def test_agents_and_route_servers_get_the_new_values(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await joined(controller, "c1-lan", "c2-lan")
    told = await done(controller, {"ports": ["eth*"], "mtu": 1400, "max_routes": 64, "lease_seconds": 600})
    assert told["in_force"] and [a["cloudlet"] for a in told["agents"]] == ["c1"]
    document = await one.document(told["generation"])
    lan = document.endpoints[0]
    assert (lan.ports, lan.mtu, lan.lease_seconds) == (["eth*"], 1400, 600)
    assert [e.max_routes for e in route_server.rules.endpoints if e.name == "c1-lan"] == [64]
    assert other.documents[-1].generation < told["generation"], "nothing of it concerns c2"
    shown = await controller.get("/endpoints/c1-lan")
    assert (shown["ports"], shown["mtu"], shown["max_routes"], shown["lease_seconds"]) == (["eth*"], 1400, 64, 600)
    back = await done(controller, {"ports": None, "mtu": None, "max_routes": None, "lease_seconds": None})
    lan = (await one.document(back["generation"])).endpoints[0]
    assert (lan.ports, lan.mtu, lan.lease_seconds) == ([], 1450, 3600)
    kinds = [event["type"] for event in (await controller.get("/events"))["items"]]
    assert kinds.count("endpoint-changed") == 2
    nothing = await done(controller, {"mtu": 1450})
    assert nothing["generation"] == back["generation"] and nothing["interrupted"] == []


async def test_another_prefix_reaches_those_that_route_to_it(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await joined(controller, "c1-lan", "c2-lan")
    told = await done(controller, {"prefix": "10.77.0.0/24", "prefix6": "2001:db8:77::/64"})
    assert told["in_force"] and [a["cloudlet"] for a in told["agents"]] == ["c1", "c2"]
    lan = (await one.document(told["generation"])).endpoints[0]
    assert (lan.prefix, lan.gateway, lan.gateway6) == ("10.77.0.0/24", "10.77.0.1", "2001:db8:77::1")
    remote = (await other.document(told["generation"])).endpoints[0].remotes[0]
    assert (remote.prefix, remote.prefix6) == ("10.77.0.0/24", "2001:db8:77::/64")
    assert route_server.rules == rule_set(controller.region.intent, 65000)
    assert any("10.1.0.0/24 reach nothing beyond their LAN" in one["what"] for one in told["interrupted"])


async def test_filters_follow_a_prefix(controller: Controller) -> None:
    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    policy = """apiVersion: weft/v1
vcps: {blue: {members: [c1-lan, c2-lan]}}
access: {blue: [{name: web, action: accept, protocols: [tcp], ports: [80]}, {name: rest, action: drop}]}
"""
    assert (await controller.http.post("/api/v1/policy/apply", content=policy)).status_code == 200
    await eventually(lambda: bool(one.access) and bool(other.access))
    before, order = other.access[-1], len(other.order)
    told = await done(controller, {"prefix": "10.77.0.0/24"})
    await other.document(told["generation"])
    assert other.access[-1].lans != before.lans
    assert other.order[order:] == ["access", "desired"], "rules before the tunnel's new prefix"


async def test_a_rehearsal_and_a_stale_view_change_nothing(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    await controller.agent("c1", 1)
    tag = (await controller.http.get(LAN)).headers["etag"]
    before = controller.region.intent
    told = await done(controller, {"max_routes": 5, "ports": ["eth1"]}, dry_run=True)
    assert told["dry_run"] and told["route_servers"][0]["dry_run"] and [a["cloudlet"] for a in told["agents"]] == ["c1"]
    assert told["interrupted"][0]["what"] == "if its PE announces more than 5 routes, all of them are in quarantine"
    problem(await patch(controller, {"mtu": 1400}, tag='"1-1"'), 412)
    problem(await patch(controller, {"mtu": 1400}, tag='"1-1"', dry_run=True), 412)
    assert controller.region.intent is before and route_server.rules.generation == before.generation
    await done(controller, {"mtu": 1400}, tag=tag)
    problem(await patch(controller, {"mtu": 1300}, tag=tag), 412)


@pytest.mark.parametrize(
    ("body", "status", "field", "reason"),
    [
        ({"name": "c1"}, 422, "name", "cannot be changed: remove the endpoint"),
        ({"cloudlet": "c2"}, 422, "cloudlet", "cannot be changed: a LAN stays where it is"),
        ({"rt": None}, 422, "rt", "cannot be changed: it follows from the site number"),
        ({"index": 2}, 422, "index", "cannot be changed: it is allotted for good"),
        ({"prefix": None}, 422, "prefix", "an endpoint has an IPv4 prefix"),
        ({"mtu": 9}, 422, "mtu", "greater than or equal to 576"),
        ({"ports": ["a b"]}, 422, "ports.0", "not of the right form"),
        ({"porst": []}, 422, "porst", ""),
        ({"vni": 7}, 422, "vni", "is a VPLS PE"),
        ({"gateway": "10.1.0.2"}, 422, "gateway", "the gateway of 10.1.0.0/24 is 10.1.0.1"),
        ({"prefix": "192.0.2.0/24"}, 409, "prefix", "the VTEP of cloudlet c1"),
    ],
)
async def test_wrong_values(controller: Controller, body: dict[str, Any], status: int, field: str, reason: str) -> None:
    await controller.cloudlet("c1", 1)
    before = controller.region.intent
    problem(await patch(controller, body), status, field, reason)
    problem(await patch(controller, {"mtu": 1400}, "/api/v1/endpoints/c7-lan"), 404, reason="no endpoint 'c7-lan'")
    assert controller.region.intent is before


async def lease(controller: Controller, device: str, number: int, *, ended: bool = False) -> None:
    async with controller.region.database.write() as session:
        pair = await pairs.give(session, "c1-lan", device, number)
        until = now() + (timedelta(seconds=-1) if ended else timedelta(hours=1))
        address = f"10.1.0.{2 + 2 * number}"
        row = LeaseRow(pair=pair.id, endpoint="c1-lan", device=device, kind="md", address=address)
        row.granted_at, row.expires_at = now(), until
        session.add(row)


async def test_dependents_keep_their_prefix(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    for number in range(5):
        await controller.post("/devices", {"name": f"m{number}", "mac": f"02:00:5e:00:00:0{number}"})
    other = {"prefix": "10.77.0.0/24"}
    policy = "apiVersion: weft/v1\nvcps: {}\naddresses: {lans: {c1-lan: {reservations: {m0: 10.1.0.8}}}}\n"
    assert (await controller.http.post("/api/v1/policy/apply", content=policy)).status_code == 200
    reserved = "the policy's reservation of 10.1.0.8 for m0 depends on the present addresses of c1-lan: apply a policy"
    problem(await patch(controller, other), 409, "prefix", reserved)
    await controller.http.post("/api/v1/policy/apply", content="apiVersion: weft/v1\nvcps: {}\n")
    statics = "/api/v1/addresses/c1-lan/statics"
    taken = await controller.http.post(statics, json={"hosts": [{"name": "printer", "address": "10.1.0.40"}]})
    assert taken.is_success, taken.text
    problem(await patch(controller, other), 409, "prefix", "the static host printer at 10.1.0.40 depends on")
    assert (await controller.http.delete(f"{statics}/printer")).is_success
    kept = await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m0", "seconds": 600})
    problem(await patch(controller, other), 409, "prefix", "reserved for m0 depends on the present addresses")
    assert (await controller.http.delete(f"/api/v1/reservations/{kept['id']}")).is_success
    for number in range(1, 5):
        await lease(controller, f"m{number}", 10 + number)
    leases = "10.1.0.24 of m1, 10.1.0.26 of m2, 10.1.0.28 of m3 and 1 more depend on the present addresses of c1-lan"
    problem(await patch(controller, other), 409, "prefix", f"{leases}: end or release the leases first")
    problem(await patch(controller, other, dry_run=True), 409, "prefix", leases)
    problem(await patch(controller, {"prefix6": "2001:db8:1::/125"}), 409, "prefix6", "depend on")
    await done(controller, {"prefix6": "2001:db8:1::/64", "mtu": 1500})  # takes nothing away
    problem(await patch(controller, {"prefix6": None}), 409, "prefix6", "depend on")


async def test_a_renumbered_lan_begins_anew(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await lease(controller, "m1", 90, ended=True)
    async with controller.region.database.write() as session:
        row = await delegations.begin(session, "c1-lan", "0" * 32, 3600, now(), heard=True)
        await blocks.add(session, "c1-lan", [3], row.epoch)
    problem(await patch(controller, {"prefix": "10.77.0.0/24"}), 409, reason="has not yet told which addresses")
    controller.region.leases.leases.hear("c1-lan")
    await done(controller, {"prefix": "10.77.0.0/24"})
    async with controller.region.database.write() as session:  # PostgreSQL locks no row for a reader
        assert await pairs.of_device(session, "m1") == []
        assert await blocks.of(session, "c1-lan", 1) == set()
        former = await delegations.locked(session, "c1-lan", "0" * 32)
    assert former is not None and former.rest_seconds is not None, "its next account is answered with a beginning"
    granted = await controller.post("/leases", {"endpoint": "c1-lan", "device": "m1", "kind": "md"})
    assert granted["address"].startswith("10.77.0.")


async def test_a_change_on_trial_goes_back(controller: Controller, route_server: FakeRouteServer) -> None:
    agent = await controller.agent("c1", 1)
    before = controller.region.intent.endpoints["c1-lan"]
    tried = await done(controller, {"mtu": 1400, "max_routes": 3, "ports": ["eth1"]}, confirm_within=600)
    assert tried["confirm_by"] and (await agent.document(tried["generation"])).endpoints[0].mtu == 1400
    problem(await patch(controller, {"lease_seconds": 60}), 409, reason="is on trial until")
    problem(await controller.http.delete(LAN), 409, reason="on trial")
    back = await controller.post(f"/changes/{tried['generation']}/rollback", status=200)
    assert controller.region.intent.endpoints["c1-lan"] == before
    assert (await agent.document(back["generation"])).endpoints[0].mtu == before.mtu
    assert [e.max_routes for e in route_server.rules.endpoints] == [None]
    kept = await done(controller, {"mtu": 1400}, confirm_within=600)
    await controller.post(f"/changes/{kept['generation']}/confirm", status=200)
    assert controller.region.intent.endpoints["c1-lan"].mtu == 1400
    prefix = await patch(controller, {"prefix": "10.77.0.0/24"}, confirm_within=60)
    problem(prefix, 422, "confirm_within", "c1-lan gets another prefix, and a trial cannot take the new leases back")
    rehearsed = await patch(controller, {"prefix": "10.77.0.0/24"}, confirm_within=60, dry_run=True)
    problem(rehearsed, 422, "confirm_within")


async def test_a_controller_that_was_down_takes_the_change_back(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server) as first:
        await first.cloudlet("c1", 1)
        tried = await done(first, {"mtu": 1400, "ports": ["eth1"], "tenant": "acme"}, confirm_within=600)
        number = tried["generation"]
        first.region.changes.flow.trial = None  # its clock stops as if the process had been killed
    async with start(route_server) as second:
        trial = second.region.changes.flow.trial
        assert trial is not None and trial.generation == number
        await second.post(f"/changes/{number}/rollback", status=200)
        lan = second.region.intent.endpoints["c1-lan"]
        assert (lan.mtu, lan.ports, lan.tenant) == (1450, (), None)
    async with start(route_server) as third:
        assert third.region.intent.endpoints["c1-lan"] == lan


async def test_another_tenant_is_asked(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.cloudlet("c2", 2)
    await joined(controller, "c1-lan", "c2-lan")
    policy = "apiVersion: weft/v1\nvcps: {}\ntenants: {acme: {}, corp: {consent: false}}\n"
    assert (await controller.http.post("/api/v1/policy/apply", content=policy)).status_code == 200
    told = await done(controller, {"tenant": "acme"})
    assert controller.region.intent.vcps["blue"].members == {"c2-lan"}
    assert [one["what"] for one in told["interrupted"]] == [
        "it leaves blue, whose other members its hosts no longer reach",
        "its LAN has neither gateway nor DHCP until tenant acme consents",
    ]
    assert (await controller.get("/endpoints/c1-lan"))["consent"]["state"] == "waiting"
    await controller.post("/endpoints/c1-lan/consent")
    await done(controller, {"tenant": "corp"})
    consent = (await controller.get("/endpoints/c1-lan"))["consent"]
    assert (consent["state"], consent["by"], consent["at"]) == ("unasked", None, None)
    problem(await patch(controller, {"tenant": "cropp"}), 409, "tenant", "knows no tenant 'cropp'")


async def test_two_endpoints_exchange_their_vnis(controller: Controller) -> None:
    """The API changes one at a time; the database takes an exchange all the same, as an inventory makes it."""
    from controller.core.alterations import alter_endpoints

    await controller.cloudlet("c1", 1, pe="evpn")
    await controller.post("/endpoints", {"name": "more", "cloudlet": "c1", "prefix": "10.9.0.0/24", "vni": 7})
    problem(await patch(controller, {"vni": 7}), 409, "vni", "more of c1 has VNI 7")
    fields = {"c1-lan": {"vni": 7}, "more": {"vni": 10000}}
    await controller.region.changes.flow.apply(lambda intent: alter_endpoints(intent, fields), "exchange")
    async with controller.region.database.read() as session:
        rows = [await session.get(EndpointRow, name) for name in ("c1-lan", "more")]
    assert [(row.vni, row.revision) for row in rows if row is not None] == [(7, 2), (10000, 2)]
