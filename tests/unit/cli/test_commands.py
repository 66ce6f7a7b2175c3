"""Every command asks the controller for what it says, and prints the answer for people and for programs."""

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Controller, Weft, problem

CHANGE = {
    "generation": 12,
    "in_force": True,
    "duration_ms": 84.2,
    "route_servers": [
        {
            "route_server": "rs1",
            "generation": 12,
            "previous": 11,
            "announced": 6,
            "withdrawn": 1,
            "peers": [{"peer": "c1", "announced": 6, "withdrawn": 1, "written_us": 300}],
            "duration_us": 420,
            "dry_run": False,
        }
    ],
    "unreachable": [],
    "agents": [{"cloudlet": "c5", "confirmed": True, "after_ms": 61.0}],
    "dry_run": False,
}
TRIED = CHANGE | {"confirm_by": "2020-01-01T00:01:00Z"}
TRIAL = {
    "generation": 12,
    "at": "2020-01-01T00:00:00Z",
    "cause": "e left blue",
    "state": "on-trial",
    "confirm_by": "2020-01-01T00:01:00Z",
    "settled_at": None,
}
CLOUDLET = {
    "name": "c1",
    "pe": "vpls",
    "state": "active",
    "vtep": "198.51.100.1",
    "labels": {"city": "Pisa"},
    "agent": {"connected": True, "last_seen": "2020-01-01T00:00:00Z", "version": "1.0", "generation": 7},
}
LEASE = {"id": 17, "address": "10.1.0.2", "kind": "md", "device": "ana", "endpoint": "c1-lan", "expires_at": None}

ACTIONS: list[tuple[str, str, str, Any, Any]] = [
    (
        "cloudlet add c1 --vtep 198.51.100.1 --label city=Pisa --latitude 43.7",
        "POST",
        "/api/v1/cloudlets",
        {
            "name": "c1",
            "pe": "vpls",
            "vtep": "198.51.100.1",
            "approval": False,
            "token_seconds": 3600,
            "labels": {"city": "Pisa"},
            "latitude": 43.7,
        },
        CLOUDLET | {"token": "one-time", "token_expires_at": "2020-01-01T00:00:00Z"},
    ),
    ("cloudlet show c1", "GET", "/api/v1/cloudlets/c1", None, CLOUDLET),
    ("cloudlet token c1", "POST", "/api/v1/cloudlets/c1/token", None, {"token": "t", "token_expires_at": None}),
    ("cloudlet approve c1", "POST", "/api/v1/cloudlets/c1/approve", None, CLOUDLET),
    ("cloudlet drain c1", "POST", "/api/v1/cloudlets/c1/drain", None, CHANGE),
    ("cloudlet remove c1", "DELETE", "/api/v1/cloudlets/c1", None, CHANGE),
    (
        "endpoint add e --cloudlet c1 --prefix 10.1.0.0/24 --port md* --port eth1 --vni 7 --max-routes 9",
        "POST",
        "/api/v1/endpoints",
        {"name": "e", "cloudlet": "c1", "prefix": "10.1.0.0/24", "ports": ["md*", "eth1"], "vni": 7, "max_routes": 9},
        {"name": "e", "prefix": "10.1.0.0/24", "rt": "65000:1"},
    ),
    ("endpoint show e", "GET", "/api/v1/endpoints/e", None, {"name": "e"}),
    ("endpoint remove e", "DELETE", "/api/v1/endpoints/e", None, CHANGE),
    (
        "vcp add blue --description fair",
        "POST",
        "/api/v1/vcps",
        {"name": "blue", "flavour": "vpls", "description": "fair"},
        {"name": "blue"},
    ),
    ("vcp show blue", "GET", "/api/v1/vcps/blue", None, {"name": "blue", "members": ["a", "b"]}),
    ("vcp remove blue", "DELETE", "/api/v1/vcps/blue", None, CHANGE),
    ("vcp join blue e", "POST", "/api/v1/vcps/blue/members", {"endpoint": "e"}, CHANGE),
    ("vcp leave blue e", "DELETE", "/api/v1/vcps/blue/members/e", None, CHANGE),
    ("vcp leave blue e --confirm-within 60", "DELETE", "/api/v1/vcps/blue/members/e", None, TRIED),
    ("change show 12", "GET", "/api/v1/changes/12", None, TRIAL),
    ("change confirm 12", "POST", "/api/v1/changes/12/confirm", None, CHANGE),
    ("change rollback 12", "POST", "/api/v1/changes/12/rollback", None, CHANGE),
    (
        "device add ana --mac 02:00:5e:00:00:01 --vm-client-id 01aa",
        "POST",
        "/api/v1/devices",
        {"name": "ana", "mac": "02:00:5e:00:00:01", "vm": {"client_id": "01aa"}},
        {"name": "ana"},
    ),
    ("device remove ana", "DELETE", "/api/v1/devices/ana", None, None),
    (
        "lease add c1-lan ana --kind vm",
        "POST",
        "/api/v1/leases",
        {"endpoint": "c1-lan", "device": "ana", "kind": "vm"},
        LEASE,
    ),
    ("lease renew 17", "POST", "/api/v1/leases/17/renew", None, LEASE),
    ("lease release 17", "DELETE", "/api/v1/leases/17", None, {}),
]


@pytest.mark.parametrize(("line", "method", "path", "body", "answer"), ACTIONS, ids=[a[0] for a in ACTIONS])
def test_what_is_asked(
    controller: Controller, weft: Weft, line: str, method: str, path: str, body: object, answer: object
) -> None:
    controller.answers[method, path] = answer if answer is not None else {}
    result = weft(*line.split())
    assert (result.code, result.err) == (0, "")
    assert result.out
    assert (controller.last.method, controller.last.url.path) == (method, path)
    assert (json.loads(controller.last.content) if controller.last.content else None) == body
    assert weft(*line.split(), "--output", "json").json == (answer if answer is not None else {})


LISTS: list[tuple[str, str, dict[str, str], dict[str, Any], list[str]]] = [
    ("cloudlet list", "cloudlets", {}, CLOUDLET, ["c1", "active", "198.51.100.1", "yes", "d ago"]),
    ("endpoint list", "endpoints", {}, {"name": "e", "cloudlet": "c1", "vcps": ["blue"]}, ["e", "c1", "blue"]),
    ("endpoint list --cloudlet c1", "endpoints", {"cloudlet": "c1"}, {"name": "e", "cloudlet": "c1"}, ["e", "c1"]),
    ("vcp list", "vcps", {}, {"name": "blue", "members": ["a", "b"]}, ["blue", "a, b"]),
    ("change list --limit 5", "changes", {"limit": "5"}, TRIAL, ["12", "on-trial", "e left blue", "d ago"]),
    ("device list", "devices", {}, {"name": "ana", "vm": {"mac": "02::"}}, ["ana", "02::"]),
    ("lease list --device ana --endpoint e", "leases", {"device": "ana", "endpoint": "e"}, LEASE, ["10.1.0.2", "17"]),
    (
        "event list --after 3",
        "events",
        {"after": "3"},
        {"id": 4, "type": "member-joined", "text": "x"},
        ["joined"],
    ),
]


@pytest.mark.parametrize(("line", "noun", "query", "item", "shown"), LISTS, ids=[a[0] for a in LISTS])
def test_lists(
    controller: Controller,
    weft: Weft,
    line: str,
    noun: str,
    query: dict[str, str],
    item: dict[str, Any],
    shown: list[str],
) -> None:
    controller.answers["GET", f"/api/v1/{noun}"] = {"items": [item], "next": None}
    result = weft(*line.split())
    assert result.code == 0
    assert dict(controller.last.url.params) == {"limit": "1000"} | query
    assert all(text in result.out for text in shown), result.out
    assert weft("-o", "json", *line.split()).json == [item]
    controller.answers["GET", f"/api/v1/{noun}"] = {"items": [], "next": None}
    assert weft(*line.split()).out.startswith("no ")
    assert weft(*line.split(), "-o", "json").json == []


def test_a_token_is_printed_with_what_to_do_with_it(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/cloudlets"] = {"name": "c1", "token": "SECRET-1"}
    result = weft("cloudlet", "add", "c1", "--vtep", "192.0.2.1")
    assert "SECRET-1" in result.out and "token_file" in result.out


def test_a_join_in_force(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/vcps/blue/members"] = CHANGE
    result = weft("vcp", "join", "blue", "c5-lan")
    assert result.code == 0
    assert "c5-lan joins blue: in force after 84 ms, generation 12" in result.out
    assert "✓ route server rs1 6 announced, 1 withdrawn to c1 0.42 ms" in " ".join(result.out.split())
    assert "✓ agent of c5 kernel agrees 61 ms" in " ".join(result.out.split())


def test_a_leave_that_is_not_in_force_names_who_is_missing(controller: Controller, weft: Weft) -> None:
    late = CHANGE | {
        "in_force": False,
        "unreachable": ["rs2"],
        "agents": [{"cloudlet": "c5", "confirmed": False, "after_ms": None}],
    }
    controller.answers["DELETE", "/api/v1/vcps/blue/members/c5-lan"] = late
    result = weft("vcp", "leave", "blue", "c5-lan")
    assert result.code == 1
    assert "✗" in result.out
    assert "route server rs2, agent of c5" in result.err


def test_a_dry_run_says_what_would_happen(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/vcps/blue/members"] = CHANGE | {"dry_run": True, "in_force": False}
    result = weft("vcp", "join", "blue", "c5-lan", "--dry-run")
    assert result.code == 0
    assert controller.last.url.params["dry_run"] == "true"
    assert "would happen" in result.out and "✓ agent" not in result.out


def test_a_wrong_label_is_wrong_usage(controller: Controller, weft: Weft) -> None:
    result = weft("cloudlet", "add", "c1", "--vtep", "192.0.2.1", "--label", "city")
    assert result.code == 2 and "'city'" in result.err and not controller.asked


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


def test_explanations_are_chains(controller: Controller, weft: Weft) -> None:
    steps = [
        {"step": "announced", "ok": True, "text": "by c1", "at": "2020-01-01T00:00:00Z"},
        {"step": "pools", "ok": False, "text": "none in common"},
    ]
    text = "c1-lan and c3-lan share no VCP"
    route = {"nlri": "65000:1:1", "verdict": "not-sent", "text": "not sent to c3", "steps": steps}
    server = {"route_server": "rs1", "verdict": "not-sent", "text": text, "routes": [route]}
    answer = {"route_servers": [server], "unreachable": ["rs2"]}
    controller.answers["GET", "/api/v1/routes/explain"] = answer
    result = weft("route", "explain", "c1-lan", "c3-lan", "--nlri", "65000:1:1")
    assert dict(controller.last.url.params) == {"from": "c1-lan", "to": "c3-lan", "nlri": "65000:1:1"}
    assert result.out.splitlines()[0] == "rs1: c1-lan and c3-lan share no VCP"
    assert "route server rs2 did not answer" in result.err
    assert "✓ announced" in result.out and "✗ pools" in result.out and "d ago" in result.out
    assert weft("route", "explain", "c1-lan", "c3-lan", "-o", "json").json == answer


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


def test_the_doctor(controller: Controller, weft: Weft) -> None:
    well = {"ok": True, "checked": {"generation": 7, "route_servers": 2, "adj_in": 30}, "differences": []}
    controller.answers["GET", "/api/v1/doctor"] = well
    result = weft("doctor")
    assert (
        result.code == 0
        and "generation 7; compared: 2 route servers, 30 adj in" in result.out
        and "✓ all agree" in result.out
    )
    ill = {"where": "kernel of c2", "subject": "t", "expected": "a", "found": "none", "text": "c2 has no tunnel."}
    controller.answers["GET", "/api/v1/doctor"] = {"ok": False, "checked": {}, "differences": [ill]}
    result = weft("doctor")
    assert result.code == 1 and "✗ kernel of c2: c2 has no tunnel." in result.out and "1 difference" in result.err
    result = weft("doctor", "--output", "json")
    assert result.code == 1 and result.json["differences"] == [ill]


def test_a_refusal_is_told_with_its_fields(controller: Controller, weft: Weft) -> None:
    errors: list[dict[str, Any]] = [
        {"field": "prefix", "message": "10.1.0.1/24 has host bits"},
        {"field": None, "message": "and more"},
    ]
    controller.answers["POST", "/api/v1/endpoints"] = problem(422, "Invalid", "the request is not right", *errors)
    result = weft("endpoint", "add", "e", "--cloudlet", "c1", "--prefix", "10.1.0.1/24")
    assert result.code == 3
    assert "weft: Invalid: the request is not right" in result.err
    assert "  prefix: 10.1.0.1/24 has host bits" in result.err and "  and more" in result.err
    result = weft("endpoint", "add", "e", "--cloudlet", "c1", "--prefix", "10.1.0.1/24", "-o", "json")
    assert result.code == 3 and result.json["errors"] == errors


def test_a_detail_that_repeats_its_fields_is_not_said_twice(controller: Controller, weft: Weft) -> None:
    errors = [{"field": "prefix", "message": "host bits"}, {"field": "mtu", "message": "too small"}]
    both = "prefix: host bits; mtu: too small"
    controller.answers["POST", "/api/v1/vcps"] = problem(422, "Unprocessable", both, *errors)
    assert weft("vcp", "add", "x").err == "weft: Unprocessable\n  prefix: host bits\n  mtu: too small\n"
    controller.answers["POST", "/api/v1/vcps"] = problem(409, "Conflict", "too small", errors[1])
    assert weft("vcp", "add", "x").err == "weft: Conflict\n  mtu: too small\n"


def test_names_are_quoted_whole(controller: Controller, weft: Weft) -> None:
    assert weft("cloudlet", "show", "../vcps?x=1#y").code == 3
    assert controller.last.url.raw_path == b"/api/v1/cloudlets/..%2Fvcps%3Fx%3D1%23y"


def test_the_latest_events_are_shown_unless_told_from_where(controller: Controller, weft: Weft) -> None:
    def pages(request: httpx.Request) -> httpx.Response:
        assert request.headers["Accept"] == "application/json", "else the controller would answer with a stream"
        start = int(request.url.params.get("after", 0))
        items = [{"id": start + 1}, {"id": start + 2}]
        return httpx.Response(200, json={"items": items, "next": str(start + 2) if start < 6 else None})

    controller.answers["GET", "/api/v1/events"] = pages
    assert weft("event", "list", "--limit", "3", "-o", "json").json == [{"id": 6}, {"id": 7}, {"id": 8}]
    assert weft("event", "list", "--after", "2", "--limit", "3", "-o", "json").json == [{"id": 3}, {"id": 4}, {"id": 5}]


def test_changes_on_trial(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/vcps/blue/members"] = TRIED
    joined = weft("vcp", "join", "blue", "e", "--confirm-within", "60")
    assert "unless `weft change confirm 12` comes before" in joined.out
    assert controller.last.url.params["confirm_within"] == "60"
    assert weft("vcp", "join", "blue", "e", "--confirm-within", "0").code == 2
    controller.answers["GET", "/api/v1/changes"] = {"items": [TRIAL], "next": None}
    controller.answers["POST", "/api/v1/changes/12/confirm"] = CHANGE
    assert weft("change", "confirm").out == "change 12 is confirmed: it is there to stay\n"
    controller.answers["POST", "/api/v1/changes/12/confirm"] = CHANGE | {"in_force": False, "unreachable": ["rs2"]}
    told = weft("change", "confirm", "12")
    assert told.code == 1 and "route server rs2" in told.err
    controller.answers["GET", "/api/v1/changes"] = {"items": [TRIAL | {"state": "confirmed"}], "next": None}
    for verb in ("confirm", "rollback"):
        assert weft("change", verb).err == "weft: no change is on trial\n"


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
    for wrong in (["--from", "41"], ["c5", "--to", "42"], []):
        assert weft("route", "diff", *wrong).code == 2


def test_an_old_database_is_put_in_force(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/route-servers/overtake"] = {"route_servers": ["rs1", "rs2"]}
    assert weft("route", "overtake").out == "overtaken: rs1, rs2\n"
    refusal = problem(409, "Conflict", "no route server is ahead of the database")
    controller.answers["POST", "/api/v1/route-servers/overtake"] = refusal
    refused = weft("route", "overtake")
    assert refused.code == 3 and "no route server is ahead" in refused.err
