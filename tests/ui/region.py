"""A region to look at: three cloudlets with agents, a pool, a VM that is to move, a fake route server with routes and
their explanation, a few addresses. Names and texts that anybody may set can be those of an attacker."""

from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from controller.core.clock import now
from controller.wire.rulesets import PeerReceipt, Receipt, RuleSet
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_routeserver import FakeRouteServer

AT = "2026-05-03T10:00:00.123456789Z"


class ShownRouteServer(FakeRouteServer):
    """A route server that says what a change sends, and why a route reached a PE."""

    def _receipt(self, rules: RuleSet, *, dry_run: bool = False) -> Response:
        names = [peer.name for peer in rules.peers]
        peers = [
            PeerReceipt(peer=name, announced=2, withdrawn=index % 2, written_us=None if dry_run else 900 + index)
            for index, name in enumerate(names)
        ]
        receipt = Receipt(
            route_server=self.name,
            generation=rules.generation,
            previous=self.rules.generation,
            announced=2 * len(names),
            withdrawn=len(names) // 2,
            peers=peers,
            duration_us=1200,
            dry_run=dry_run,
        )
        return Response(receipt.model_dump_json(), media_type="application/json")

    async def _explain(self, request: Request) -> Response:
        ends = {"from": request.query_params["from"], "to": request.query_params["to"]}
        steps = [
            {"step": "announced", "ok": True, "text": f"c1 announced it at {AT}", "at": AT},
            {"step": "accepted", "ok": True, "text": "its route target is that of the endpoint"},
            {"step": "pools", "ok": False, "text": "the two endpoints share no pool"},
        ]
        route = {"nlri": "65000:1 ve 1 base 1", "family": "l2vpn-vpls", "verdict": "not-sent", "text": "No pool."}
        said = {"verdict": "not-sent", "text": "None of the routes reaches it.", "truncated": False}
        return JSONResponse(ends | said | {"routes": [route | {"steps": steps}]})


def routes(count: int, nlri: str = "65000:{n} ve {n} base 1") -> list[dict[str, Any]]:
    """Return lines of a route server's table."""
    base = {"table": "adj-in", "family": "l2vpn-vpls", "endpoint": "c1-lan", "peer": "c1", "next_hop": "192.0.2.1"}
    details = {"ve_id": 1, "offset": 1, "size": 64, "label_base": 4096}
    attributes = {"originator_id": "192.0.2.1", "extended_communities": ["rt 65000:1"], "local_pref": {"value": 100}}
    return [
        base
        | {"nlri": nlri.replace("{n}", str(n)), "key": f"{n:08x}", "rd": f"65000:{n}", "rts": ["65000:1"]}
        | {"received_at": AT, "details": details, "attributes": attributes}
        for n in range(1, count + 1)
    ]


async def fill(controller: Controller, server: FakeRouteServer) -> None:
    """Make the region."""
    for number in (1, 2, 3):
        await controller.agent(f"c{number}", number)
    await controller.http.patch("/api/v1/cloudlets/c1", json={"latitude": 45.07, "longitude": 7.69})
    await controller.post("/vcps", {"name": "blue", "description": "Clinics of the north"})
    for name in ("c1-lan", "c2-lan"):
        await controller.post("/vcps/blue/members", {"endpoint": name})
    await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m1"})
    await controller.post("/leases", {"endpoint": "c1-lan", "device": "m1", "kind": "md"})
    hosts = [{"name": "printer", "address": "10.1.0.9"}]
    await controller.post("/addresses/c1-lan/statics", {"hosts": hosts}, status=200)
    made_of = {"driver": "simulated", "image": "debian", "memory": 1 << 28}
    await controller.post("/vms", {"name": "web", "device": "m1", "endpoint": "c1-lan", **made_of})
    at = (now() + timedelta(days=1)).isoformat()
    await controller.post("/moves/scheduled", {"vm": "web", "endpoint": "c2-lan", "at": at})
    server.routes = routes(40)


async def many(controller: Controller, count: int) -> None:
    """Add cloudlets whose agents have not enrolled."""
    for number in range(count):
        body = {"name": f"edge-{number:04d}", "pe": "vpls", "vtep": f"198.51.{number // 250}.{number % 250 + 1}"}
        await controller.post("/cloudlets", body | {"labels": {"city": f"town-{number % 40}"}})
