"""The tables in the form of birdwatcher, as Alice-LG reads them.

`Alice` reads answers by the same steps as alice-lg 6.1 does (its package `birdwatcher`, for one table): it fails where
Alice-LG would fail, and finds what Alice-LG would show."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from controller.api import birdwatcher as api
from controller.core.birdwatcher import NOT_SENT, NOT_SENT_REASONS, REASONS, REJECTED, network, route
from controller.wire.route_tables import HeldVerdict, QuarantineReason
from tests.unit.controller.conftest import ADMIN, Controller, Start
from tests.unit.controller.fake_routeserver import FakeRouteServer, fake_route_server
from tests.unit.controller.test_tokens import holder

Json = dict[str, Any]

LINE: Json = {
    "table": "adj-in",
    "family": "l2vpn-evpn",
    "nlri": "[type:macadv][rd:65000:1][etag:0][mac:02:00:00:00:00:01][ip:10.1.0.5]",
    "peer": "c1",
    "endpoint": "c1-lan",
    "rd": "65000:1",
    "rts": ["65000:1", "192.0.2.1:7"],
    "next_hop": "192.0.2.1",
    "received_at": "2026-01-01T10:00:00.5Z",
    "details": {"type": 2, "tag": 0, "mac": "02:00:00:00:00:01", "ip": "10.1.0.5", "vni": 10000},
    "attributes": {
        "origin": {"type": 1, "value": 0},
        "as_path": {"type": 2, "as_paths": [{"segment_type": 2, "num": 2, "asns": [65001, 65002]}]},
        "local_pref": {"type": 5, "value": 200},
        "multi_exit_disc": {"type": 4, "metric": 7},
        "communities": {"type": 8, "communities": [(65000 << 16) + 666]},
        "large_community": {"type": 32, "value": [{"ASN": 65000, "LocalData1": 1, "LocalData2": 2}]},
    },
}
OTHER = LINE | {"details": LINE["details"] | {"ip": "10.1.0.6", "mac": "02:00:00:00:00:02"}, "attributes": {}}
QUARANTINED = OTHER | {"table": "quarantine", "reason": "foreign-rt", "endpoint": ""}


@dataclass
class Alice:
    """Reads a route server by the steps of Alice-LG."""

    http: httpx.AsyncClient
    base: str
    SHORT = "%Y-%m-%d %H:%M:%S"

    async def get(self, path: str, keys: tuple[str, ...] = ()) -> Json:
        answer = await self.http.get(self.base + path)
        found: Json = answer.json()
        if "api" not in found:
            raise LookupError(found["error"])
        assert isinstance(found["api"]["Version"], str) and isinstance(found["api"]["result_from_cache"], bool)
        assert datetime.fromisoformat(found["ttl"]).tzinfo is not None
        datetime.fromisoformat(found["api"]["cache_status"]["cached_at"]["date"])
        assert list(found)[:2] == ["api", "ttl"], "the decoder of streams reads them in this order"
        return found

    async def neighbors(self) -> dict[str, Json]:
        protocols = (await self.get("/protocols/bgp"))["protocols"]
        return {
            name: {
                "address": text(one["neighbor_address"]),
                "asn": whole(one["neighbor_as"]),
                "state": text(one["state"]).lower(),
                "description": text(one["description"]),
                "received": whole(one["routes"]["imported"]) + whole(one["routes"]["filtered"]),
                "accepted": whole(one["routes"]["imported"]),
                "filtered": whole(one["routes"]["filtered"]),
                "exported": whole(one["routes"]["exported"]),
                "preferred": whole(one["routes"]["preferred"]),
                "changed": self.when(one["state_changed"]),
                "error": text(one["last_error"]),
            }
            for name, one in protocols.items()
        }

    async def status(self) -> Json:
        found: Json = (await self.get("/status"))["status"]
        self.when(found["current_server"])
        return {name: text(found[name]) for name in ("version", "message", "router_id")}

    async def short(self) -> dict[str, tuple[str, datetime | None]]:
        found = (await self.get("/protocols/short?uncached=true"))["protocols"]
        return {name: (text(one["state"]), self.when(one["since"])) for name, one in found.items()}

    async def routes(self, path: str, part: str = "routes") -> list[Json]:
        found = (await self.get(path))[part]
        assert isinstance(found, list)
        return sorted(map(self.route, found), key=lambda one: str(one["network"]))

    async def required(self, name: str) -> tuple[list[Json], list[Json]]:
        """Return accepted and filtered routes as the page of a neighbour shows them."""
        received = await self.routes(f"/routes/protocol/{name}")
        filtered = await self.routes(f"/routes/filtered/{name}")
        if not received:
            return [], filtered
        peer = received[0]["gateway"]
        learnt = received[0]["learnt_from"] or peer
        filtered = [one for one in filtered if one["gateway"] in (peer, learnt) or one["learnt_from"] == peer]
        gone = {one["network"] for one in filtered}
        return [
            one for one in {one["network"]: one for one in received}.values() if one["network"] not in gone
        ], filtered

    def route(self, data: Json) -> Json:
        bgp = data["bgp"]
        assert all(isinstance(one, str) for one in bgp["as_path"]), "AS numbers are read from text"
        for name, size in (("communities", 2), ("large_communities", 3)):
            assert all(len(c) == size and all(isinstance(n, int) for n in c) for c in bgp[name])
        assert all(len(c) == 3 for c in bgp["ext_communities"])
        return {
            "network": text(data["network"]),
            "neighbor": text(data["from_protocol"]),
            "interface": text(data["interface"]),
            "gateway": text(data["gateway"]),
            "learnt_from": text(data["learnt_from"]),
            "metric": whole(data["metric"]),
            "primary": bool(data["primary"]),
            "type": [text(one) for one in data["type"]],
            "age": self.when(data["age"]),
            "origin": text(bgp["origin"]),
            "as_path": [int(one) for one in bgp["as_path"]],
            "next_hop": text(bgp["next_hop"]),
            "local_pref": int(text(bgp["local_pref"])),
            "med": int(text(bgp["med"])),
            "communities": bgp["communities"],
            "large": bgp["large_communities"],
            "ext": bgp["ext_communities"],
        }

    def when(self, value: object) -> datetime | None:
        return datetime.strptime(value, self.SHORT).replace(tzinfo=UTC) if isinstance(value, str) else None


def text(value: object) -> str:
    assert isinstance(value, str), value
    return value


def whole(value: object) -> int:
    assert isinstance(value, int) and not isinstance(value, bool), value
    return value


def alice(controller: Controller, server: str = "rs1") -> Alice:
    return Alice(controller.http, f"/birdwatcher/{server}")


async def test_a_neighbour_with_its_routes(controller: Controller, route_server: FakeRouteServer) -> None:
    await controller.cloudlet("c1", 1)
    reader = alice(controller)
    (name,) = neighbors = await reader.neighbors()
    assert name == "c1" and neighbors["c1"]["state"] == "up" and neighbors["c1"]["asn"] == controller.region.fabric.asn
    assert "c1-lan" in neighbors["c1"]["description"] and neighbors["c1"]["accepted"] == 1
    assert (await reader.short()).keys() == {"c1"} and (await reader.status())["message"].startswith("generation")
    route_server.routes = [LINE, QUARANTINED]
    (accepted,) = await reader.routes("/routes/protocol/c1")
    assert route_server.asked == {"table": "adj-in", "peer": "c1", "limit": "1000"}
    assert accepted == {
        "network": "10.1.0.5/32 02:00:00:00:00:01 (65000:1)",
        "neighbor": "c1",
        "interface": "c1-lan",
        "gateway": neighbors["c1"]["address"],
        "learnt_from": neighbors["c1"]["address"],
        "metric": 200,
        "primary": True,
        "type": ["BGP", "univ"],
        "age": datetime(2026, 1, 1, 10, tzinfo=UTC),
        "origin": "IGP",
        "as_path": [65001, 65002],
        "next_hop": "192.0.2.1",
        "local_pref": 200,
        "med": 7,
        "communities": [[65000, 666]],
        "large": [[65000, 1, 2]],
        "ext": [["rt", "65000", "1"], ["rt", "192.0.2.1", "7"]],
    }


async def test_quarantine_is_filtered_with_its_reason(controller: Controller, route_server: FakeRouteServer) -> None:
    await controller.cloudlet("c1", 1)
    route_server.routes = [QUARANTINED]
    (filtered,) = await alice(controller).routes("/routes/filtered/c1")
    assert route_server.asked["table"] == "quarantine"
    assert filtered["large"] == [[controller.region.fabric.asn, 65666, 2]] and not filtered["primary"]
    held = LINE | {"held": {"verdict": "poison", "why": "reset"}, "to": "c1"}
    route_server.routes = [LINE | {"to": "c1"}, held, LINE | {"withheld": "message-size"}]
    kept = await alice(controller).routes("/routes/noexport/c1")
    assert [one["large"][-1][1:] for one in kept] == [[65667, 2], [65667, 1]]
    assert len(await alice(controller).routes("/routes/export/c1")) == 1


async def test_the_page_of_a_neighbour_shows_accepted_and_filtered_routes(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake gives the same list for each table, so that the accepted one is among the filtered ones too."""
    await controller.cloudlet("c1", 1)
    route_server.routes = [LINE, QUARANTINED]
    monkeypatch.setattr(api, "_any", lambda line: bool(line.get("reason")))
    accepted, filtered = await alice(controller).required("c1")
    assert [one["network"] for one in accepted] == ["10.1.0.5/32 02:00:00:00:00:01 (65000:1)"]
    assert [one["network"] for one in filtered] == ["10.1.0.6/32 02:00:00:00:00:02 (65000:1)"]


async def test_tables_and_dumps_are_written_page_by_page(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "PAGE", 2)
    await controller.cloudlet("c1", 1)
    route_server.routes = [LINE | {"details": {"prefix": f"10.0.{n}.0/24"}} for n in range(7)]
    reader = alice(controller)
    assert len(await reader.routes("/routes/table/master")) == 7
    assert len(await reader.routes("/routes/table/master/filtered")) == 7
    dump = await reader.get("/routes/dump")
    assert (len(dump["imported"]), len(dump["filtered"]), dump["truncated"]) == (7, 7, False)
    monkeypatch.setattr(api, "MOST", 5)
    cut = await reader.get("/routes/table/master")
    assert (len(cut["routes"]), cut["truncated"]) == (5, True)


async def test_no_part_is_taken_for_the_whole(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "PAGE", 2)
    await controller.cloudlet("c1", 1)
    route_server.routes = [LINE] * 6

    def going(line: Json) -> bool:
        route_server.down = len(route_server.asked) == 4  # at the second page
        return True

    monkeypatch.setattr(api, "_accepted", going)
    with pytest.raises(httpx.RemoteProtocolError):
        await alice(controller).get("/routes/protocol/c1")
    with pytest.raises(LookupError, match="rs1 does not answer"):
        await alice(controller).get("/routes/protocol/c1")


async def test_other_questions(controller: Controller, route_server: FakeRouteServer) -> None:
    await controller.cloudlet("c1", 1)
    reader = alice(controller)
    assert (await reader.get("/symbols"))["symbols"] == {"routing table": ["master"], "protocol": ["c1"]}
    assert (await reader.get("/symbols/tables"))["symbols"] == ["master"]
    assert (await reader.get("/symbols/protocols"))["symbols"] == ["c1"]
    assert (await reader.get("/routes/count/protocol/c1"))["routes"] == 1
    assert (await reader.get("/routes/count/table/master"))["routes"] == 1
    route_server.answers["lookup"] = {"routes": [LINE], "truncated": False, "vpls_routes": 0}
    for path, asked in (
        ("/routes/prefix?prefix=10.1.0.0/24", {"prefix": "10.1.0.0/24"}),
        ("/route/net/10.1.0.5", {"address": "10.1.0.5"}),
        ("/route/net/10.1.0.0/24", {"prefix": "10.1.0.0/24"}),
        ("/route/net/2001:db8::1/table/master", {"address": "2001:db8::1"}),
    ):
        assert len(await reader.routes(path)) == 1 and route_server.asked == asked
    assert (await controller.http.get("/birdwatcher/rs1/version")).text


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("rs9/status", 404, "there is no route server 'rs9'; there is rs1"),
        ("rs1/routes/protocol/nobody", 404, "rs1 has no session 'nobody'"),
        ("rs1/routes/prefix?prefix=x", 400, "neither an address nor a prefix"),
        ("rs1/route/net/10.0.0.0/x", 400, "neither an address nor a prefix"),
    ],
)
async def test_errors_have_the_field_that_clients_show(
    controller: Controller, path: str, status: int, error: str
) -> None:
    answer = await controller.http.get(f"/birdwatcher/{path}")
    assert answer.status_code == status and error in answer.json()["error"]


async def test_a_route_server_that_is_away(controller: Controller, route_server: FakeRouteServer) -> None:
    route_server.down = True
    answer = await controller.http.get("/birdwatcher/rs1/status")
    assert answer.status_code == 502 and "rs1 does not answer" in answer.json()["error"]


async def test_a_token_is_a_password_here_alone(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        viewer = await holder(controller, "alice", "viewer")
        token = viewer.headers["Authorization"].removeprefix("Bearer ")
        tenant = (await holder(controller, "acme", "tenant", tenant="acme")).headers["Authorization"]
        headers: Callable[[str], dict[str, str]] = lambda text: {  # noqa: E731 - one line of the table below
            "Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"
        }
        for given, status in (
            (headers(f"alice:{token}"), 200),
            ({"Authorization": f"Bearer {token}"}, 200),
            (headers(f"alice:{ADMIN}"), 200),
            (headers("alice:wrong"), 401),
            (headers(token), 401),
            ({"Authorization": "Basic !"}, 401),
            ({"Authorization": "Basic"}, 401),
            ({"Authorization": tenant}, 403),
            ({"Authorization": ""}, 401),
        ):
            answer = await controller.http.get("/birdwatcher/rs1/status", headers=given)
            assert answer.status_code == status, given
            assert status == 200 or answer.json()["error"]
        assert (await controller.http.get("/api/v1/vcps", headers=headers(f"alice:{token}"))).status_code == 401


def test_the_example_configuration_names_every_reason() -> None:
    text = (Path(__file__).parents[3] / "deploy/alice.conf").read_text()
    for part, reasons in ((REJECTED, REASONS), (NOT_SENT, NOT_SENT_REASONS)):
        found = re.findall(rf"^65000:{part}:(\d+) = (\S+)$", text, re.M)
        assert {name: int(number) for number, name in found} == reasons


def test_each_reason_has_a_number_of_its_own() -> None:
    assert set(REASONS) == set(get_args(QuarantineReason)) and sorted(REASONS.values()) == list(
        range(1, len(REASONS) + 1)
    )
    assert set(get_args(HeldVerdict)) < set(NOT_SENT_REASONS)
    assert (REASONS["unknown-rt"], REASONS["foreign-rt"], REASONS["flowspec"]) == (1, 2, 20), "operators configure them"


@pytest.mark.parametrize(
    ("details", "shown"),
    [
        ({"type": 2, "mac": "02:00:00:00:00:01"}, "02:00:00:00:00:01 (65000:1)"),
        ({"type": 2, "mac": "02:00:00:00:00:01", "tag": 5}, "02:00:00:00:00:01 (65000:1) tag 5"),
        ({"type": 2, "mac": "02:00:00:00:00:01", "ip": "2001:db8::1"}, "2001:db8::1/128 02:00:00:00:00:01 (65000:1)"),
        ({"type": 5, "prefix": "10.1.0.0/24"}, "10.1.0.0/24 (65000:1)"),
        ({"prefix": "10.1.0.0/24", "label": 7}, "10.1.0.0/24 (65000:1)"),
        ({"type": 3, "ip": "192.0.2.1", "tag": 0}, LINE["nlri"]),
        ({"ve_id": 1, "offset": 1, "size": 64, "label_base": 4097}, LINE["nlri"]),
        ({}, LINE["nlri"]),
    ],
)
def test_the_destination_comes_first(details: Json, shown: str) -> None:
    assert network(LINE | {"details": details}) == shown


@pytest.mark.parametrize(
    "attributes",
    [
        {"origin": "unreadable", "as_path": "x", "communities": "x", "large_community": "x", "local_pref": "x"},
        {"origin": {"value": 9}, "as_path": {"as_paths": None}, "communities": {"communities": None}},
        {"as_path": {"as_paths": ["x", {"asns": ["x"]}]}, "large_community": {"value": [{}, "x"]}},
    ],
)
def test_unreadable_attributes_are_left_out(attributes: Json) -> None:
    bgp = route(LINE | {"attributes": attributes}, 65000, "192.0.2.1")["bgp"]
    assert (bgp["as_path"], bgp["communities"], bgp["large_communities"]) == ([], [], [])
    assert (bgp["origin"], bgp["local_pref"], bgp["med"]) == ("Incomplete", "100", "0")
