"""Operators reset a PE's sessions, and have its routes exchanged again."""

from tests.unit.controller.conftest import Start, problem
from tests.unit.controller.fake_routeserver import fake_route_server
from tests.unit.controller.test_tokens import holder

RESET, REFRESH = "/routes/reset", "/routes/refresh"


async def test_a_session_is_reset_at_one_route_server_or_all(start: Start) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.cloudlet("c1", 1)
        asked = {"peer": "c1", "route_server": "rs2", "text": "ticket 17"}
        done = await controller.post(RESET, asked, status=200)
        assert done["route_servers"] == [
            {
                "route_server": "rs2",
                "peer": "c1",
                "was": "established",
                "graceful": False,
                "prefixes_in": 3,
                "prefixes_out": 5,
            }
        ]
        assert two.log[-1] == 'reset c1 {"text": "ticket 17"}' and not any("reset" in line for line in one.log)
        two.refusal = 409, "no-session", 'there is no session with "c1"'
        done = await controller.post(RESET, {"peer": "c1"}, status=200)
        assert [s["route_server"] for s in done["route_servers"]] == ["rs1"]
        assert done["refused"] == [{"route_server": "rs2", "message": 'there is no session with "c1"'}]
        one.refusal = two.refusal
        await controller.refused(409, RESET, {"peer": "c1"}, None, "rs1: there is no session")
        one.down = two.down = True
        await controller.refused(502, RESET, {"peer": "c1"}, None, "No route server could be asked")


async def test_wrong_resets_are_named(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        await controller.cloudlet("c1", 1)
        await controller.refused(422, RESET, {"peer": "nobody"}, "peer", "no cloudlet")
        await controller.refused(422, RESET, {"peer": "c1", "route_server": "rs9"}, "route_server", "rs9")
        await controller.refused(422, RESET, {"peer": "c1", "text": "ö" * 200}, None, "400 bytes")
        await controller.refused(422, REFRESH, {"peer": "c1", "direction": "up"}, "direction", "in")
        await controller.refused(422, REFRESH, {"peer": "c1", "family": "ipv4"}, "family", "vpls")
        assert not any("re" in line.split()[0][:2] and "c1" in line for line in one.log)


async def test_routes_are_refreshed(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        await controller.cloudlet("c1", 1)
        body = {"peer": "c1", "direction": "both", "family": "l2vpn-evpn"}
        (done,) = (await controller.post(REFRESH, body, status=200))["route_servers"]
        assert (done["asked"], done["resent"], done["enhanced"]) == (["l2vpn-evpn"], ["l2vpn-evpn"], True)
        assert one.log[-1] == 'refresh c1 {"direction": "both", "family": "l2vpn-evpn"}'
        one.refusal = 409, "not-capable", '"c1" did not announce the capability for route refresh'
        await controller.refused(409, REFRESH, {"peer": "c1"}, None, "did not announce the capability")


async def test_a_refresh_too_soon_says_when_and_is_not_kept(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        await controller.cloudlet("c1", 1)
        one.refusal = 429, "too-soon", "at most once in 10s"
        headers, url = {"Idempotency-Key": "k"}, f"/api/v1{REFRESH}"
        answer = await controller.http.post(url, json={"peer": "c1"}, headers=headers)
        problem(answer, 429, reason="at most once in 10s")
        assert answer.headers["Retry-After"] == "7"
        one.refusal = None
        again = await controller.http.post(url, json={"peer": "c1"}, headers=headers)
        assert again.status_code == 200, "nothing was done before, so that the key is free"


async def test_it_takes_an_operator_and_is_audited(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        await controller.cloudlet("c1", 1)
        viewer = await holder(controller, "dash", "viewer")
        for url in (RESET, REFRESH):
            problem(await viewer.post(f"/api/v1{url}", json={"peer": "c1"}), 403)
        operator = await holder(controller, "ana", "operator")
        assert (await operator.post(f"/api/v1{RESET}", json={"peer": "c1"})).status_code == 200
        entries = (await controller.get("/audit", under="/api/v1/routes"))["items"]
        assert ("token ana", "/api/v1/routes/reset", 200) in [(e["who"], e["path"], e["status"]) for e in entries]
