"""Every command sends the request that its help promises, and prints the answer for users and for programs."""

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.answers import ACTIONS, CHANGE, LISTS, TRIAL, TRIED
from tests.unit.cli.conftest import Controller, Weft, problem


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
    many = {"ok": False, "checked": {}, "differences": [ill | {"kind": "leak"}], "counts": {"leak": 9}}
    controller.answers["GET", "/api/v1/doctor"] = many
    result = weft("doctor")
    assert result.code == 1 and "✗ 8 more of kind leak" in result.out and "9 differences" in result.err


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
        if request.url.params.get("latest") == "true":
            before = int(request.url.params.get("before", many + 1))
            items = [{"id": at} for at in range(1, before)][-int(request.url.params["limit"]) :]
            return httpx.Response(200, json={"items": items, "next": None})
        start = int(request.url.params.get("after", 0))
        items = [{"id": start + 1}, {"id": start + 2}]
        return httpx.Response(200, json={"items": items, "next": str(start + 2) if start < 6 else None})

    many = 8
    controller.answers["GET", "/api/v1/events"] = pages
    assert weft("event", "list", "--limit", "3", "-o", "json").json == [{"id": 6}, {"id": 7}, {"id": 8}]
    assert len(weft("event", "list", "--limit", "5000", "-o", "json").json) == 8
    assert weft("event", "list", "--before", "4", "--limit", "2", "-o", "json").json == [{"id": 2}, {"id": 3}]
    many = 2500
    found = weft("event", "list", "--limit", "2200", "-o", "json").json
    assert [row["id"] for row in found] == list(range(301, 2501)), "pages before one another, each event once"
    many = 8
    assert weft("event", "list", "--after", "2", "--limit", "3", "-o", "json").json == [{"id": 3}, {"id": 4}, {"id": 5}]


def test_a_time_that_is_none_is_named_with_its_option(controller: Controller, weft: Weft) -> None:
    for option in ("--since", "--until"):
        wrong = weft("event", "list", option, "yesterday")
        assert wrong.code == 2 and f"{option} 'yesterday'" in wrong.err


def test_changes_on_trial(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/vcps/blue/members"] = TRIED
    joined = weft("vcp", "join", "blue", "e", "--confirm-within", "60")
    assert "unless `weft change confirm 12` comes before" in joined.out
    assert controller.last.url.params["confirm_within"] == "60"
    assert weft("vcp", "join", "blue", "e", "--confirm-within", "0").code == 2
    controller.answers["GET", "/api/v1/changes"] = {"items": [TRIAL], "next": None}
    controller.answers["POST", "/api/v1/changes/12/confirm"] = CHANGE
    assert weft("change", "confirm").out == "change 12 is confirmed: it is permanent\n"
    controller.answers["POST", "/api/v1/changes/12/confirm"] = CHANGE | {"in_force": False, "unreachable": ["rs2"]}
    told = weft("change", "confirm", "12")
    assert told.code == 1 and "route server rs2" in told.err
    controller.answers["GET", "/api/v1/changes"] = {"items": [TRIAL | {"state": "confirmed"}], "next": None}
    for verb in ("confirm", "rollback"):
        assert weft("change", verb).err == "weft: no change is on trial\n"


def test_an_old_database_is_put_in_force(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/route-servers/overtake"] = {"route_servers": ["rs1", "rs2"]}
    assert weft("route", "overtake").out == "overtaken: rs1, rs2\n"
    refusal = problem(409, "Conflict", "no route server is ahead of the database")
    controller.answers["POST", "/api/v1/route-servers/overtake"] = refusal
    refused = weft("route", "overtake")
    assert refused.code == 3 and "no route server is ahead" in refused.err


def test_a_cloudlet_is_described(controller: Controller, weft: Weft) -> None:
    followed: dict[str, object] = {key: [] for key in ("create", "adopt", "describe", "delete", "join", "leave")}
    followed |= {
        "join": [{"vcp": "turin", "endpoint": "c1-lan"}],
        "out": [{"vcp": "red", "endpoint": "c1-lan", "why": "its prefix overlaps"}],
    }
    change = {"generation": 4, "in_force": True, "duration_ms": 20.0, "followed": followed}
    controller.answers["PATCH", "/api/v1/cloudlets/c1"] = change
    result = weft("cloudlet", "set", "c1", "--label", "city=turin", "--label", "tier-", "--at", "45.07,7.69")
    assert result.code == 0 and controller.body == {
        "labels": {"city": "turin", "tier": None},
        "latitude": 45.07,
        "longitude": 7.69,
    }
    assert result.out.splitlines()[1:4] == [
        "by the policy:",
        "+ c1-lan joins turin",
        "! c1-lan stays out of red: its prefix overlaps",
    ]
    assert weft("cloudlet", "set", "c1", "--at", "-", "--dry-run").code == 0
    assert controller.body == {"latitude": None, "longitude": None}
    assert controller.last.url.params["dry_run"] == "true"
    for wrong in (["--at", "here"], ["--at", "45"], ["--label", "city"], []):
        assert weft("cloudlet", "set", "c1", *wrong).code == 2
