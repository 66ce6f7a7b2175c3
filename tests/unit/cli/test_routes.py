"""The output of `weft route` and `weft routeserver`: routes, differences between route servers and between
generations."""

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Controller, Weft


def test_routes(controller: Controller, weft: Weft) -> None:
    route = {
        "route_server": "rs1",
        "nlri": "65000:1:1",
        "endpoint": "c1-lan",
        "peer": "c1",
        "to": "c5",
        "rts": ["65000:5"],
        "next_hop": "198.51.100.1",
    }
    controller.answers["GET", "/api/v1/routes"] = {"items": [route], "next": None, "truncated": True, "unreachable": []}
    result = weft("route", "list", "--table", "adj-out", "--peer", "c1", "--rt", "65000:5", "--limit", "1")
    asked = dict(controller.last.url.params)
    assert asked == {"table": "adj-out", "peer": "c1", "rt": "65000:5", "limit": "1"}
    assert "65000:1:1" in result.out and "and more" in result.out
    assert weft("route", "list", "-o", "json").json == [route]


def test_routes_are_read_page_by_page(controller: Controller, weft: Weft) -> None:
    def page(request: httpx.Request) -> httpx.Response:
        first, limit = int(request.url.params.get("cursor", "0")), int(request.url.params["limit"])
        shown = min(3, limit)  # a page may have fewer than were asked for
        items = [{"route_server": "rs1", "nlri": f"nlri{number}"} for number in range(first, first + shown)]
        following = str(first + shown) if first + shown < 8 else None
        answer = {"items": items, "next": following, "truncated": following is not None, "unreachable": ["rs2"]}
        return httpx.Response(200, json=answer)

    controller.answers["GET", "/api/v1/routes"] = page
    result = weft("route", "list", "--limit", "7", "-o", "json")
    assert [route["nlri"] for route in result.json] == [f"nlri{number}" for number in range(7)]
    assert result.err.count("route server rs2 did not answer") == 1
    assert "and more: --limit is 7" in weft("route", "list", "--limit", "7").out


def test_route_filters(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/routes"] = {"items": [], "next": None, "truncated": False, "unreachable": []}
    weft("route", "list", "--vcp", "blue", "--prefix", "10.1.0.0/16", "--mac", "02:00:00:00:00:01")
    asked = dict(controller.last.url.params)
    assert (asked["vcp"], asked["prefix"], asked["mac"]) == ("blue", "10.1.0.0/16", "02:00:00:00:00:01")


@pytest.mark.parametrize("wrong", [False, True])
def test_route_diff(controller: Controller, weft: Weft, wrong: bool) -> None:
    difference = {"kind": "missing", "nlri": "65000:1:1", "peer": "c2", "expected": ["65000:5"], "found": []}
    server = {"route_server": "rs1", "generation": 3, "session": True, "compared": 4}
    answer = {"route_servers": [server | {"differences": [difference] if wrong else []}], "unreachable": ["rs2"]}
    controller.answers["GET", "/api/v1/routes/diff"] = answer
    result = weft("route", "diff", "c5")
    assert result.code == int(wrong)
    assert dict(controller.last.url.params) == {"peer": "c5"}
    assert f"rs1: generation 3, 4 routes compared, {int(wrong)} differ" in result.out
    assert ("missing" in result.out and "65000:1:1" in result.out) == wrong
    assert "route server rs2 did not answer" in result.err
    assert weft("route", "diff", "c5", "-o", "json").json == answer


def test_route_diff_counts_what_is_not_listed(controller: Controller, weft: Weft) -> None:
    difference = {"kind": "missing", "nlri": "65000:1:1", "peer": "c2", "expected": ["65000:5"], "found": []}
    kept = {"nlri": "65000:1:2", "peer": "c2", "reason": "message-size"}
    counts = {"differences": 1, "withheld": 1200, "held": 2}
    server = {"route_server": "rs1", "generation": 3, "session": True, "compared": 4, "counts": counts}
    lists = {"differences": [difference], "withheld": [kept], "held": [difference | {"kind": "held-back"}]}
    controller.answers["GET", "/api/v1/routes/diff"] = {"route_servers": [server | lists], "unreachable": []}
    out = weft("route", "diff", "c5").out
    assert "4 routes compared, 1 differ" in out
    assert "not sent: 65000:1:2 of c2 (message-size)" in out and "not sent: 1199 more, which are not listed" in out
    assert "held back: 65000:1:1 of c2" in out and "held back: 1 more" in out
    assert "differences: " not in out


@pytest.mark.parametrize(
    ("state", "in_step", "code"), [("established", True, 0), ("active", True, 1), ("established", False, 1)]
)
def test_route_servers(controller: Controller, weft: Weft, state: str, in_step: bool, code: int) -> None:
    server = {
        "name": "rs1",
        "reachable": True,
        "in_step": in_step,
        "generation": 3,
        "sessions": [{"peer": "c1", "state": state, "prefixes_in": 1}],
        "status": {"bmp": [{"address": "collector:11019", "state": "monitoring", "messages": 71, "last_error": ""}]},
    }
    controller.answers["GET", "/api/v1/route-servers"] = {"items": [server], "next": None}
    result = weft("route", "servers")
    assert result.code == code and "rs1" in result.out and state in result.out
    assert "rs1 collector:11019 monitoring 71" in " ".join(result.out.split())
    assert weft("route", "servers", "-o", "json").json == [server]


def test_a_pe_without_endpoints_needs_no_session(controller: Controller, weft: Weft) -> None:
    sessions = [{"peer": "c1", "state": "established", "endpoints": 1}, {"peer": "c2", "state": "idle", "endpoints": 0}]
    server = {"name": "rs1", "reachable": True, "in_step": True, "generation": 3, "sessions": sessions}
    controller.answers["GET", "/api/v1/route-servers"] = {"items": [server], "next": None}
    result = weft("route", "servers")
    assert result.code == 0 and "1 of 1 up" in result.out and "c2" in result.out
    sessions[1]["endpoints"] = 1
    result = weft("route", "servers")
    assert result.code == 1 and "1 of 2 up" in result.out


def test_route_watch(controller: Controller, weft: Weft) -> None:
    sent = {"route_server": "rs1", "kind": "sent", "at": "2026-01-01T10:20:30.123456Z", "peer": "c1", "to": "c5"}
    changes: list[dict[str, Any]] = [
        {"route_server": "rs1", "kind": "watching"},
        sent | {"nlri": "65000:1:1", "rts": ["65000:5"]},
        {"route_server": "rs1", "kind": "quarantined", "peer": "c1", "nlri": "\x1b[2J", "rts": [], "reason": "no-rt"},
        {"route_server": "rs2", "kind": "lost", "text": "refused"},
    ]
    stream = "".join(f"event: {change['kind']}\ndata: {json.dumps(change)}\n\n" for change in changes)
    headers = {"Content-Type": "text/event-stream"}
    controller.answers["GET", "/api/v1/routes/watch"] = lambda _: httpx.Response(200, text=stream, headers=headers)
    result = weft("route", "watch", "--vcp", "blue", "--peer", "c5", "--rt", "65000:5")
    assert dict(controller.last.url.params) == {"vcp": "blue", "peer": "c5", "rt": "65000:5"}
    lines = result.out.splitlines()
    assert lines[0].split() == ["rs1", "watching"] and lines[3].split() == ["rs2", "lost", "refused"]
    assert lines[1].split() == ["10:20:30.123", "rs1", "sent", "c1", ">", "c5", "65000:1:1", "rt", "65000:5"]
    assert "(no-rt)" in lines[2] and "\x1b" not in result.out
    assert [json.loads(line) for line in weft("route", "watch", "-o", "json").out.splitlines()] == changes


def test_route_diff_between_generations(controller: Controller, weft: Weft) -> None:
    moved = {"kind": "appears", "to": "c5", "peer": "c1", "endpoint": "c1-lan", "nlri": "65000:1:1", "from_rts": []}
    server = {
        "route_server": "rs1",
        "from": 41,
        "to": 42,
        "peers": [{"kind": "added", "from": None, "to": {"name": "c5"}}],
        "endpoints": [{"kind": "changed", "from": {"name": "e"}, "to": {"name": "e"}}],
        "vcps": [{"kind": "removed", "name": "red"}],
        "members": [{"kind": "joined", "vcp": "blue", "endpoint": "c5-lan"}],
        "counts": {"appears": 2, "disappears": 0, "route-targets": 0},
        "routes": [moved | {"to_rts": ["65000:5"]}],
        "truncated": True,
    }
    forgetful = {"route_server": "rs2", "error": "generation 41 is not known here (any more)"}
    answer = {"route_servers": [server, forgetful], "unreachable": []}
    controller.answers["GET", "/api/v1/routes/diff"] = answer
    result = weft("route", "diff", "--from", "41", "--to", "42", "--limit", "1")
    assert dict(controller.last.url.params) == {"from": "41", "to": "42", "limit": "1"}
    assert result.code == 0 and "2 appear, 0 disappear" in result.out and "… and more" in result.out
    for line in ("  + PE c5", "  ~ endpoint e", "  - VCP red", "  + c5-lan joins blue"):
        assert line in result.out.splitlines()
    assert "rs2: generation 41 is not known here" in result.out and "65000:1:1" in result.out
    assert weft("route", "diff", "--from", "41", "--to", "42", "-o", "json").json == answer
    for wrong in (["--from", "41"], ["c5", "--to", "42"], [], ["--last", "--from", "41", "--to", "42"]):
        assert weft("route", "diff", *wrong).code == 2
    controller.answers["GET", "/api/v1/changes"] = {"items": [{"generation": 42}], "next": None}
    assert weft("route", "diff", "--last").code == 0
    assert dict(controller.last.url.params) == {"from": "41", "to": "42", "limit": "1000"}
    controller.answers["GET", "/api/v1/changes"] = {"items": [], "next": None}
    assert weft("route", "diff", "--last").code == 1


def test_held_and_release(controller: Controller, weft: Weft) -> None:
    route = {"peer": "c5", "nlri": "65000:1:1:1", "endpoint": "c1-lan", "announcer": "c1", "verdict": "poison"}
    route |= {"why": "3/10 UPDATE error", "until": "2026-01-01T10:20:30Z"}
    server = {"route_server": "rs1", "routes": [route], "sources": [], "apart": []}
    server["sources"] = [{"peer": "c5", "announcer": "c2", "until": "2026-01-01T10:20:30Z"}]
    server["apart"] = [{"peer": "c5", "family": "l2vpn-vpls", "until": "2026-01-01T10:20:30Z"}]
    answer = {"route_servers": [server], "unreachable": ["rs2"]}
    controller.answers["GET", "/api/v1/routes/held"] = answer
    result = weft("route", "held", "c5")
    assert dict(controller.last.url.params) == {"peer": "c5"}
    for text in ("65000:1:1:1", "poison", "no route of c2 is sent to c5", "l2vpn-vpls routes are sent to c5"):
        assert text in result.out
    assert "route server rs2 did not answer" in result.err
    assert weft("route", "held", "-o", "json").json == answer
    released = {"route_servers": [{"route_server": "rs1", "routes": 1, "sources": 0}], "unreachable": []}
    controller.answers["POST", "/api/v1/routes/release"] = released
    assert weft("route", "release", "c5", "65000:1:1:1").out == "rs1: released 1 routes\n"
    assert json.loads(controller.last.content) == {"peer": "c5", "nlri": "65000:1:1:1"}
