"""Bad input gets a 4xx problem with the field and the reason, and changes nothing."""

import asyncio

import httpx
import pytest

from tests.unit.controller.conftest import PLAIN, Controller, Start, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        ("10.9.0.0/30", "too small"),
        ("10.9.0.1/24", "host bits"),
        ("10.9.0.0", "CIDR"),
        ("nonsense", "CIDR"),
        ("2001:db8::/64", "IPv4"),
        ("224.1.0.0/24", "multicast"),
        ("127.0.0.0/24", "loopback"),
        ("0.0.0.0/0", "larger than a /8"),
        ("10.1.0.0/24", "overlaps 10.1.0.0/24 of c1-lan"),
        ("10.1.0.128/25", "overlaps"),
        ("192.0.2.0/29", "the VTEP of cloudlet c1"),
        ("192.0.2.200/29", "a route server's address"),
    ],
)
async def test_prefixes(controller: Controller, prefix: str, reason: str) -> None:
    await controller.cloudlet("c1", 1)
    body = {"name": "more", "cloudlet": "c1", "prefix": prefix}
    status = 409 if reason.startswith(("overlaps", "the VTEP", "a route server")) else 422
    await controller.refused(status, "/endpoints", body, "prefix", reason)


@pytest.mark.parametrize(
    ("prefix6", "field", "reason"),
    [
        ("2001:db8:9::/63", "prefix6", "larger than a /64"),
        ("2001:db8:9::/126", "prefix6", "too small"),
        ("2001:db8:9::1/64", "prefix6", "host bits"),
        ("2001:db8:9::", "prefix6", "CIDR"),
        ("10.9.0.0/24", "prefix6", "is IPv4"),
        ("fe80::/64", "prefix6", "link-local"),
        ("ff02::/64", "prefix6", "multicast"),
        ("::/64", "prefix6", "loopback"),
        ("::ffff:0:0/96", "prefix6", "IPv4 addresses"),
        ("2001:db8:1::/64", "prefix6", "overlaps 2001:db8:1::/64 of c1-lan"),
        ("2001:db8:1::80/121", "prefix6", "overlaps"),
    ],
)
async def test_ipv6_prefixes(controller: Controller, prefix6: str, field: str, reason: str) -> None:
    await controller.cloudlet("c1", 1, prefix6="2001:db8:1::/64")
    body = {"name": "more", "cloudlet": "c1", "prefix": "10.9.0.0/24", "prefix6": prefix6}
    await controller.refused(409 if "overlaps" in reason else 422, "/endpoints", body, field, reason)


async def test_ipv6_needs_its_smallest_packets(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    body = {"name": "more", "cloudlet": "c1", "prefix": "10.9.0.0/24", "prefix6": "2001:db8::/64", "mtu": 1279}
    await controller.refused(422, "/endpoints", body, "mtu", "IPv6 needs 1280 bytes")
    await controller.post("/endpoints", body | {"mtu": 1280})


async def test_ipv6_overlaps_in_a_pool(controller: Controller) -> None:
    await controller.cloudlet("c1", 1, prefix6="2001:db8:1::/64")
    await controller.cloudlet("c2", 2, prefix6="2001:db8:1::/112")
    await controller.cloudlet("c3", 3)
    await controller.post("/vcps", {"name": "blue"})
    for name in ("c1-lan", "c3-lan"):
        await controller.post("/vcps/blue/members", {"endpoint": name})
    reason = "2001:db8:1::/112 of c2-lan overlaps 2001:db8:1::/64 of c1-lan"
    await controller.refused(409, "/vcps/blue/members", {"endpoint": "c2-lan"}, "endpoint", reason)


async def test_overlaps_in_a_pool_and_among_pools_that_share(controller: Controller) -> None:
    for number, prefix in enumerate(["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24", "10.3.0.0/25", "10.1.0.0/16"], 1):
        await controller.cloudlet(f"c{number}", number, prefix=prefix)
    for pool in ("blue", "green"):
        await controller.post("/vcps", {"name": pool})
    for pool, number in (("blue", 1), ("blue", 2), ("green", 2), ("green", 3)):
        await controller.post(f"/vcps/{pool}/members", {"endpoint": f"c{number}-lan"})
    blue, green = "/vcps/blue/members", "/vcps/green/members"
    await controller.refused(409, green, {"endpoint": "c4-lan"}, "endpoint", "overlaps 10.3.0.0/24 of c3-lan")
    await controller.refused(409, blue, {"endpoint": "c4-lan"}, "endpoint", "overlaps 10.3.0.0/24 of c3-lan")
    await controller.refused(409, blue, {"endpoint": "c5-lan"}, "endpoint", "overlaps")
    await controller.refused(409, green, {"endpoint": "c5-lan"}, "endpoint", "overlaps")


async def test_overlaps_among_pools_that_share_a_cloudlet(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/endpoints", {"name": "c1-lab", "cloudlet": "c1", "prefix": "10.11.0.0/24"})
    await controller.cloudlet("c2", 2, prefix="10.2.0.0/24")
    await controller.cloudlet("c3", 3, prefix="10.2.0.128/25")
    for pool in ("blue", "green"):
        await controller.post("/vcps", {"name": pool})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"})
    await controller.post("/vcps/green/members", {"endpoint": "c3-lan"})
    await controller.refused(409, "/vcps/green/members", {"endpoint": "c1-lab"}, "endpoint", "cloudlet c1 would route")
    lan = {"name": "c1-more", "cloudlet": "c1", "prefix": "10.2.0.0/25"}
    await controller.refused(409, "/endpoints", lan, "prefix", "overlaps 10.2.0.0/24 of c2-lan")


async def test_members_that_do_not_fit(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/endpoints", {"name": "c1-lab", "cloudlet": "c1", "prefix": "10.11.0.0/24"})
    await controller.cloudlet("c2", 2, pe="evpn")
    await controller.cloudlet("c3", 3, pe="evpn", vni=20000)
    await controller.post("/cloudlets", {"name": "c4", "pe": "vpls", "vtep": "192.0.2.4"})
    await controller.post("/endpoints", {"name": "c4-lan", "cloudlet": "c4", "prefix": "10.4.0.0/24"})
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps", {"name": "amber", "flavour": "evpn"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    await controller.post("/vcps/amber/members", {"endpoint": "c2-lan"})
    blue, amber = "/vcps/blue/members", "/vcps/amber/members"
    await controller.refused(422, blue, {"endpoint": "nobody"}, "endpoint", "there is no endpoint 'nobody'")
    await controller.refused(404, "/vcps/red/members", {"endpoint": "c1-lan"}, None, "there is no VCP 'red'")
    await controller.refused(409, blue, {"endpoint": "c1-lan"}, "endpoint", "already")
    await controller.refused(409, blue, {"endpoint": "c2-lan"}, "endpoint", "pool of vpls endpoints")
    await controller.refused(409, amber, {"endpoint": "c1-lan"}, "endpoint", "pool of evpn endpoints")
    await controller.refused(409, amber, {"endpoint": "c3-lan"}, "endpoint", "VNI 20000")
    await controller.refused(409, blue, {"endpoint": "c4-lan"}, "endpoint", "not active: its cloudlet c4 is invited")
    await controller.refused(409, blue, {"endpoint": "c1-lab"}, "endpoint", "same cloudlet")
    problem(await controller.http.delete("/api/v1/vcps/blue/members/c2-lan"), 404, reason="no member of blue")
    problem(await controller.http.delete("/api/v1/vcps/blue"), 409, reason="has members")
    problem(await controller.http.delete("/api/v1/cloudlets/c1"), 409, reason="drain c1 first")


async def test_names_and_numbers_that_are_taken(controller: Controller) -> None:
    await controller.cloudlet("c1", 1, pe="evpn")
    await controller.post("/vcps", {"name": "blue"})
    new = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.9"}
    await controller.refused(409, "/cloudlets", new, "name", "already")
    await controller.refused(
        409, "/cloudlets", new | {"name": "c9", "vtep": "192.0.2.1"}, "vtep", "VTEP of cloudlet c1"
    )
    await controller.refused(409, "/cloudlets", new | {"name": "c9", "vtep": "10.1.0.9"}, "vtep", "inside 10.1.0.0/24")
    await controller.refused(422, "/cloudlets", new | {"name": "c9", "vtep": "10.1.0.999"}, "vtep", "not an IPv4")
    await controller.refused(422, "/cloudlets", new | {"name": "c9", "vtep": "224.0.0.1"}, "vtep", "a host can have")
    lan = {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.9.0.0/24"}
    await controller.refused(409, "/endpoints", lan, "name", "already")
    await controller.refused(409, "/endpoints", lan | {"name": "c1-b"}, "vni", "has VNI 10000")
    await controller.refused(422, "/endpoints", lan | {"name": "c1-b", "cloudlet": "c9"}, "cloudlet", "no cloudlet")
    await controller.refused(422, "/endpoints", lan | {"name": "c1-b", "gateway": "10.9.0.9"}, "gateway", "10.9.0.1")
    await controller.refused(409, "/vcps", {"name": "blue"}, "name", "already")
    await controller.cloudlet("c2", 2)
    await controller.refused(422, "/endpoints", lan | {"name": "x", "cloudlet": "c2", "vni": 7}, "vni", "VPLS PE")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "C1"}, "name"),
        ({"name": "c1\n"}, "name"),
        ({"name": ""}, "name"),
        ({"pe": "mpls"}, "pe"),
        ({"surprise": 1}, "surprise"),
        ({"latitude": 91}, "latitude"),
        ({"token_seconds": 0}, "token_seconds"),
        ({"labels": {"a b": "c"}}, "labels.a b.[key]"),
    ],
)
async def test_bodies_that_do_not_fit_their_schema(
    controller: Controller, change: dict[str, object], field: str
) -> None:
    body = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"} | change
    await controller.refused(422, "/cloudlets", body, field, "")


async def test_requests_that_are_no_requests(controller: Controller) -> None:
    http, json = controller.http, {"content-type": "application/json"}
    problem(await http.post("/api/v1/vcps", content=b'{"name":', headers=json), 400, reason="not JSON")
    problem(await http.post("/api/v1/vcps", content=b"\xff\xfe{", headers=json), 400)
    problem(await http.post("/api/v1/vcps", content=b"[" * 100_000, headers=json), 400)
    problem(await http.post("/api/v1/vcps", content=b" " * (4 << 20) + b"{}", headers=json), 413, reason="larger")
    problem(await http.get("/api/v1/nothing"), 404)
    problem(await http.put("/api/v1/vcps"), 405)
    problem(await http.get("/api/v1/vcps", params={"cursor": "!"}), 422, "cursor")
    problem(await http.get("/api/v1/leases", params={"cursor": "YQ=="}), 422, "cursor")
    problem(await http.get("/api/v1/vcps", params={"limit": 0}), 422, "limit")
    problem(await http.get("/api/v1/vcps/none"), 404, reason="there is no VCP 'none'")


async def test_tokens(controller: Controller) -> None:
    one = await controller.post("/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})
    brief = {"name": "c2", "pe": "vpls", "vtep": "192.0.2.2", "token_seconds": 1}
    other = await controller.post("/cloudlets", brief)

    def request(token: str, cloudlet: str) -> dict[str, str]:
        return {"token": token, "cloudlet": cloudlet, "agent_version": "1"}

    await controller.refused(403, "/enrolments", request(one["token"], "c2"), "token", "not valid for this cloudlet")
    await controller.refused(403, "/enrolments", request(one["token"], "c9"), "token", "not valid for this cloudlet")
    await controller.refused(403, "/enrolments", request("made-up", "c1"), "token", "not valid for this cloudlet")
    tries = [controller.http.post("/api/v1/enrolments", json=request(one["token"], "c1")) for _ in range(5)]
    assert sorted(a.status_code for a in await asyncio.gather(*tries)) == [201] + [403] * 4
    await controller.refused(403, "/enrolments", request(one["token"], "c1"), "token", "was used at")
    await asyncio.sleep(1.05)
    await controller.refused(403, "/enrolments", request(other["token"], "c2"), "token", "expired at")
    again = await controller.post("/cloudlets/c2/token", status=200)
    await controller.refused(403, "/enrolments", request(other["token"], "c2"), "token", "not valid")
    await controller.enrol("c2", again["token"])


async def test_a_cloudlet_that_needs_approval_gets_nothing_before(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    from tests.unit.controller.fake_agent import FakeAgent

    body = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1", "approval": True}
    made = await controller.post("/cloudlets", body)
    agent = FakeAgent(controller.http, await controller.enrol("c1", made["token"]))
    await controller.post("/endpoints", {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24"})
    assert (await controller.get("/cloudlets/c1"))["state"] == "pending"
    await controller.follow(agent)
    document = await agent.document(0)
    assert not document.endpoints and not document.speakers and not route_server.rules.peers
    asked = await agent.lease(endpoint="c1-lan", mac="02:00:5e:00:00:01")
    problem(asked, 409, "endpoint", "pending")
    await controller.post("/cloudlets/c1/approve", status=200)
    document = await agent.document(document.generation + 1)
    assert [e.name for e in document.endpoints] == ["c1-lan"] and document.speakers


async def test_who_may_call_what(start: Start) -> None:
    async with start() as controller:
        credential = await controller.cloudlet("c1", 1)
        async with httpx.AsyncClient(base_url=controller.http.base_url, trust_env=False, verify=PLAIN) as nobody:
            problem(await nobody.get("/api/v1/cloudlets"), 401)
            wrong = {"Authorization": "Bearer wrong"}
            problem(await nobody.get("/api/v1/cloudlets", headers=wrong), 401)
            problem(await nobody.get("/api/v1/agent/desired", headers=wrong), 401)
            agent = {"Authorization": f"Bearer {credential}"}
            problem(await nobody.get("/api/v1/cloudlets", headers=agent), 401)
            assert (await nobody.get("/healthz")).status_code == 200
            admin = controller.http.headers["Authorization"]
            problem(await nobody.get("/api/v1/agent/desired", headers={"Authorization": admin}), 401)
    async with start(admin_token_file=None) as controller:
        problem(await controller.http.get("/api/v1/cloudlets"), 403, reason="unix socket only")


async def test_an_agent_speaks_for_its_own_cloudlet_only(controller: Controller) -> None:
    from tests.kernels import kernel

    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    problem(await one.report(kernel(other.documents[-1])), 403, "cloudlet")
    problem(await one.lease(endpoint="c2-lan", mac="02:00:5e:00:00:01"), 422, "endpoint")
    problem(await one.lease(endpoint="c1-lan", mac="nonsense"), 422, "mac")
    problem(await one.lease(endpoint="c1-lan", mac="02:00:5e:00:00:01", client_id="xyz"), 422, "client_id")


async def test_a_defect_is_a_problem_without_its_inside(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    from controller.db import vcps

    async def broken(*_: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr(vcps, "get", broken)
    answer = await controller.http.get("/api/v1/vcps/blue")
    problem(answer, 500)
    assert "inside" not in answer.text and "Traceback" not in answer.text


POLICY = """apiVersion: weft/v1
vcps:
  blue:
    members: [c1-lan, c2-lan]
"""


async def test_policies(controller: Controller) -> None:
    for number in (1, 2):
        await controller.agent(f"c{number}", number)
    await controller.cloudlet("c3", 3, prefix="10.2.0.0/25")

    async def post(verb: str, text: str | bytes, media_type: str = "application/yaml") -> httpx.Response:
        url, headers = f"/api/v1/policy/{verb}?filename=pools.yaml", {"content-type": media_type}
        return await controller.http.post(url, content=text, headers=headers)

    async def refused(text: str, reason: str, line: int) -> None:
        before = controller.region.intent
        for verb in ("check", "apply"):
            answer = await post(verb, text)
            problem(answer, 422, None, reason)
            error = answer.json()["errors"][0]
            assert (error["file"], error["line"]) == ("pools.yaml", line) and error["column"] >= 1
        assert controller.region.intent is before

    await refused("vcps: [", "not YAML", 2)
    await refused(POLICY.replace("c2-lan", "c9-lan"), "there is no endpoint 'c9-lan'", 4)
    await refused(POLICY.replace("c2-lan", "c2-lan, c3-lan"), "overlaps", 4)
    problem(await post("apply", POLICY, "application/json"), 415)
    problem(await post("apply", b"\xff"), 400)
    checked = await post("check", POLICY)
    assert checked.status_code == 200 and checked.json()["plan"]["create"] == ["blue"]
    applied = (await post("apply", POLICY)).json()
    assert applied["in_force"] and len(applied["plan"]["join"]) == 2
    again = (await post("apply", POLICY)).json()
    assert again["in_force"] and again["generation"] == applied["generation"]
    assert not any(again["plan"].values())
    shown = await controller.get("/policy")
    assert (shown["text"], shown["filename"]) == (POLICY, "pools.yaml")
    moved = (await post("apply", POLICY.replace("c2-lan", "c3-lan"))).json()
    assert moved["plan"]["leave"] == [{"vcp": "blue", "endpoint": "c2-lan"}]
    gone = (await post("apply", "apiVersion: weft/v1\nvcps: {}\n")).json()
    assert gone["plan"]["delete"] == ["blue"]
    assert (await controller.get("/vcps"))["items"] == []
