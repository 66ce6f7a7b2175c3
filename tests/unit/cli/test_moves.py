"""`weft move`: its requests and its output."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.unit.cli.answers import CHANGE
from tests.unit.cli.conftest import Controller, Weft

FIGURES: dict[str, Any] = {"done": 1 << 20, "total": 1 << 21, "wire": 1 << 19, "paused_ms": 41.0}
STEP: dict[str, Any] = {
    "step": "switchover",
    "undoing": False,
    "state": "done",
    "detail": "",
    "figures": FIGURES,
    "began_at": "2026-01-01T00:00:00Z",
    "ended_at": "2026-01-01T00:00:01Z",
    "seconds": 0.25,
}
MOVE: dict[str, Any] = {
    "name": "move-1",
    "vm": "v1",
    "device": "m1",
    "source": "c1",
    "destination": "c2",
    "endpoint": "c2-lan",
    "state": "done",
    "step": "normal",
    "reason": "",
    "asked_by": "operator",
    "keep": False,
    "ahead": False,
    "at": "c2-lan",
    "address": "10.2.0.3",
    "new_address": "10.2.0.3",
    "pool": None,
    "order": 8,
    "seconds": 12.5,
    "figures": {"memory": FIGURES},
    "created_at": "2026-01-01T00:00:00Z",
    "changed_at": "2026-01-01T00:00:00Z",
    "ended_at": "2026-01-01T00:00:00Z",
    "steps": [STEP, STEP | {"step": "abort", "undoing": True, "detail": "c2"}],
}


def stream(*moves: dict[str, Any]) -> httpx.Response:
    content = "".join(f"event: move\ndata: {json.dumps(move)}\n\n" for move in moves)
    return httpx.Response(200, text=content, headers={"Content-Type": "text/event-stream"})


def test_start(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/moves"] = MOVE | {"state": "waiting"}
    result = weft("move", "start", "v1", "c2-lan", "--linger", "5", "--keep")
    assert controller.body == {"vm": "v1", "endpoint": "c2-lan", "keep": True, "linger": 5.0, "reason": ""}
    assert result.code == 0 and "move-1: v1 is to move to c2-lan" in result.out


def test_prepare(controller: Controller, weft: Weft) -> None:
    copy = MOVE | {"ahead": True, "at": "c1-lan", "address": "10.1.0.3"}
    controller.answers["POST", "/api/v1/moves/ahead"] = copy | {"state": "waiting"}
    controller.answers["GET", "/api/v1/moves/move-1"] = lambda request: stream(copy)
    result = weft("move", "prepare", "v1", "c2-lan")
    assert controller.body == {"vm": "v1", "endpoint": "c2-lan", "reason": ""}
    assert result.code == 0 and "move-1: v1 is to be copied to c2-lan" in result.out
    result = weft("move", "prepare", "v1", "c2-lan", "--watch")
    assert result.code == 0
    assert "v1 is at c1-lan, known by 10.1.0.3, and a copy of it at c2-lan" in " ".join(result.out.split())
    controller.answers["GET", "/api/v1/moves"] = {"items": [copy], "next": None}
    assert "a copy ahead of a move" in weft("move", "list").out


SCHEDULED = {
    "name": "scheduled-1", "vm": "v1", "endpoint": "c2-lan", "at": "2030-01-31T18:00:00Z", "state": "waiting",
    "move": None, "asked_by": "operator", "detail": "", "reason": "maintenance",
}  # fmt: skip


def test_schedule(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/moves/scheduled"] = SCHEDULED
    result = weft("move", "schedule", "v1", "c2-lan", "2030-01-31T18:00", "--copied-before", "600")
    assert result.code == 0 and "scheduled-1: v1 is to move to c2-lan at 2030-01-31T18:00:00Z" in result.out
    assert (controller.body["at"], controller.body["copied_before"]) == ("2030-01-31T18:00:00+00:00", 600)
    assert weft("move", "schedule", "v1", "c2-lan", "6h").code == 0
    ahead = datetime.fromisoformat(controller.body["at"]) - datetime.now(UTC)
    assert timedelta(hours=5, minutes=59) < ahead <= timedelta(hours=6)
    result = weft("move", "schedule", "v1", "c2-lan", "tomorrow")
    assert result.code == 2 and "or how long from now, such as 6h" in " ".join(result.err.split())


def test_scheduled_and_unschedule(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/moves/scheduled"] = {"items": [SCHEDULED], "next": None}
    line = weft("move", "scheduled").out.splitlines()[1].split()
    assert line[:3] == ["scheduled-1", "v1", "c2-lan"] and line[-1] == "maintenance"
    assert controller.last.url.params["state"] == "waiting"
    controller.answers["GET", "/api/v1/moves/scheduled"] = {"items": [], "next": None}
    assert "no scheduled moves are missed" in weft("move", "scheduled", "--state", "missed").out
    controller.answers["DELETE", "/api/v1/moves/scheduled/scheduled-1"] = SCHEDULED | {"state": "cancelled"}
    result = weft("move", "unschedule", "scheduled-1")
    assert "scheduled-1: v1 is not to move to c2-lan at 2030-01-31T18:00:00Z" in " ".join(result.out.split())


def test_list_and_show(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/moves"] = {"items": [MOVE], "next": None}
    line = weft("move", "list", "--vm", "v1").out.splitlines()[1].split()
    assert line[:6] == ["move-1", "v1", "c1", "c2", "done", "normal"] and line[6:8] == ["12.5", "s"]
    assert controller.last.url.params["vm"] == "v1"
    controller.answers["GET", "/api/v1/moves/move-1"] = MOVE
    shown = weft("move", "show", "move-1").out
    assert "41 ms" in shown and "1 MiB" in shown and "undo: abort" in shown
    assert weft("move", "show", "move-1", "-o", "json").json == MOVE


def test_a_copy_over_a_thin_line_says_what_was_saved(controller: Controller, weft: Weft) -> None:
    pages = {"zero": 20286, "same": 0, "known": 5446, "delta": 208, "literal": 24438, "repeats": 0, "kept": True}
    memory = STEP | {"step": "memory", "figures": FIGURES | {"pages": pages}}
    controller.answers["GET", "/api/v1/moves/move-1"] = MOVE | {"steps": [memory, STEP]}
    shown = " ".join(weft("move", "show", "move-1").out.split())
    assert "pages: 20,286 zero, 5,446 known there, 208 changed in part, 24,438 sent whole;" in shown
    assert "a copy of an earlier stay was there" in shown and "unchanged" not in shown and "again" not in shown


def test_watch_says_each_step_once_and_how_it_ended(controller: Controller, weft: Weft) -> None:
    moving = MOVE | {"state": "moving", "step": "memory", "steps": [STEP]}
    controller.answers["GET", "/api/v1/moves/move-1"] = lambda request: stream(moving, MOVE)
    result = weft("move", "watch", "move-1")
    assert result.code == 0 and result.out.count("switchover") == 1
    assert result.out.splitlines()[-1] == "move-1 is done after 12.5 s: v1 is at c2-lan, known by 10.2.0.3"
    undone = MOVE | {"state": "undone", "at": "c1-lan", "reason": "no room"}
    controller.answers["GET", "/api/v1/moves/move-1"] = lambda request: stream(undone)
    result = weft("move", "watch", "move-1")
    assert result.code == 1 and "no room" in result.err
    controller.answers["GET", "/api/v1/moves/move-1"] = lambda request: stream(moving, MOVE)
    documents = [json.loads(line) for line in weft("move", "watch", "move-1", "-o", "json").out.splitlines()]
    assert documents == [moving, MOVE]


def test_cancel_and_evacuate(controller: Controller, weft: Weft) -> None:
    controller.answers["DELETE", "/api/v1/moves/move-1"] = MOVE | {"state": "undoing"}
    assert weft("move", "cancel", "move-1").out == "move-1 is undoing\n"
    controller.answers["POST", "/api/v1/moves/move-1/finish"] = MOVE
    assert weft("move", "finish", "move-1").out == "move-1: v1 is known by 10.2.0.3 alone\n"
    answer = {"moves": [MOVE], "moving": ["v2"], "stranded": [], "why": {}}
    controller.answers["POST", "/api/v1/cloudlets/c1/evacuation"] = answer
    result = weft("cloudlet", "evacuate", "c1")
    assert result.code == 0 and "move-1" in result.out and "v2" in result.out
    controller.answers["POST", "/api/v1/cloudlets/c1/evacuation"] = answer | {
        "stranded": ["v3"],
        "why": {"v3": "c1-lan is in no pool"},
    }
    result = weft("cloudlet", "evacuate", "c1")
    assert result.code == 1 and "cannot leave c1: v3" in result.err
    assert result.out.splitlines()[-1] == "! v3 stays at c1: c1-lan is in no pool"
    controller.answers["POST", "/api/v1/cloudlets/c1/drain"] = CHANGE
    assert weft("cloudlet", "drain", "c1").code == 0 and not controller.last.url.params
    assert weft("cloudlet", "drain", "c1", "--force").code == 0 and controller.last.url.params["force"] == "true"
