"""`weft policy`: the command and the controller check the file, and errors show their lines."""

import io
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.conftest import LEFT_SOCKET, Controller, Weft, problem

GOOD = "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]\n"
PLAN = {
    "create": ["blue"],
    "adopt": ["old"],
    "describe": ["old"],
    "delete": ["red"],
    "join": [{"vcp": "blue", "endpoint": "c1-lan"}],
    "leave": [{"vcp": "old", "endpoint": "c9-lan"}],
}


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return str(path)


def test_a_form_is_checked_without_a_controller(weft: Weft, good: str) -> None:
    result = weft("policy", "check", "--offline", good)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{good}: right (form only)\n"


@pytest.mark.filterwarnings(LEFT_SOCKET)
@pytest.mark.usefixtures("collected")
def test_a_controller_that_is_away_is_not_an_error(weft: Weft, good: str, tmp_path: Path) -> None:
    result = weft("policy", "check", good, "--url", f"unix://{tmp_path}/none.sock")
    assert result.code == 0 and "form only; no controller at" in result.out


def test_errors_have_their_place_and_their_line(weft: Weft, tmp_path: Path, good: str) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: weft/v1\nvcps:\n  blue:\n    member: [a]\n    members: [B]\n")
    result = weft("policy", "check", good, str(bad), "--offline")
    assert result.code == 1 and f"{good}: right" in result.out
    assert result.err.splitlines()[:6] == [
        f"{bad}:4:5: unknown key 'member': did you mean 'members'?",
        "      member: [a]",
        "      ^",
        f"{bad}:5:15: 'B' is not a name: 1 to 63 lower-case letters, digits and hyphens, beginning and ending with a "
        "letter or digit.",
        "      members: [B]",
        "                ^",
    ]
    found = weft("policy", "check", good, str(bad), "--offline", "-o", "json").json
    assert [(r["ok"], len(r["errors"])) for r in found] == [(True, 0), (False, 2)]
    assert found[1]["errors"][0]["line"] == 4


def test_the_controllers_errors_are_shown_the_same_way(controller: Controller, weft: Weft, good: str) -> None:
    error = {"file": good, "line": 4, "column": 15, "field": "vcps.blue.members[0]", "message": "there is no endpoint"}
    for verb in ("check", "plan", "apply"):
        controller.answers["POST", f"/api/v1/policy/{verb}"] = problem(422, "Invalid policy", "1 error", error)
    result = weft("policy", "check", good)
    assert result.code == 1
    assert result.err.splitlines()[:3] == [
        f"{good}:4:15: there is no endpoint",
        "      members: [c1-lan]",
        " " * 16 + "^",
    ]
    assert controller.last.headers["Content-Type"] == "application/yaml"
    assert controller.last.content == GOOD.encode() and controller.last.url.params["filename"] == good
    result = weft("policy", "apply", good)
    assert result.code == 3 and f"{good}:4:15: there is no endpoint" in result.err
    assert result.err.splitlines()[-1] == f"weft: {good}: not right; nothing was changed"


def test_a_refusal_that_is_not_about_the_text(controller: Controller, weft: Weft, good: str) -> None:
    controller.answers["POST", "/api/v1/policy/check"] = problem(401, "Unauthorized", "no token")
    assert weft("policy", "check", good).code == 3


APPLIED = {
    "generation": 42,
    "in_force": True,
    "duration_ms": 3.0,
    "revision": 8,
    "etag": '"a-8"',
    "plan": PLAN,
    "warnings": [],
    "disconnects": [],
}
CHANGE = {"generation": 8, "in_force": False, "duration_ms": 2.0, "dry_run": True}
PLANNED = {
    "plan": PLAN,
    "warnings": [],
    "revision": 7,
    "etag": '"a-7"',
    "generation": 41,
    "planned": "41-0123456789ab",
    "disconnects": [],
    "leases": [],
    "tests": [],
    "change": CHANGE,
}


def test_a_plan_is_printed_as_a_diff(controller: Controller, weft: Weft, good: str) -> None:
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    result = weft("policy", "plan", good)
    assert result.code == 0
    assert result.out.splitlines() == [
        "+ VCP blue",
        "~ VCP old comes under the policy",
        "~ VCP old is described anew",
        "- VCP red",
        "+ c1-lan joins blue",
        "- c9-lan leaves old",
        "planned at generation 41, against revision 7; nothing was changed",
    ]
    controller.answers["POST", "/api/v1/policy/apply"] = CHANGE | {"plan": PLAN, "etag": '"a-7"'}
    told = weft("policy", "apply", "--dry-run", good)
    assert told.code == 0 and told.out.splitlines() == [
        *result.out.splitlines()[:-1],
        f"{good}: this is what would happen",
    ]
    assert controller.last.url.params["dry_run"] == "true"
    assert [request.url.path.rpartition("/")[2] for request in controller.asked] == ["plan", "apply"]
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {"plan": {key: [] for key in PLAN}}
    assert weft("policy", "plan", good).out.startswith("nothing to change\n")


def test_everything_that_a_plan_says_is_printed(controller: Controller, weft: Weft, good: str) -> None:
    at = {"file": good, "line": 4, "column": 5, "field": "vcps.blue.members", "message": "m1 would be cut off"}
    settings = [
        {"path": "migration.rtt_ms", "before": "150", "after": "100"},
        {"path": "access.blue.web", "before": None, "after": "1. drop tcp"},
        {"path": "tenants.acme.vcps", "before": "blue", "after": None},
    ]
    steps = {key: [] for key in PLAN} | {
        "splits": [{"vcp": "metro-1", "parts": ["metro-1", "metro-3"]}],
        "settings": settings,
        "waiting": [{"vcp": "blue", "endpoint": "c7-lan", "why": "its cloudlet c7 is pending"}],
    }
    lease = {"endpoint": "c1-lan", "device": "m1", "kind": "md", "address": "10.1.0.2", "why": "it is reserved for m2"}
    test = {"name": "t", "outcome": "passed", "said": at | {"message": "test 't' passed: isolated"}}
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {
        "plan": steps,
        "warnings": [at | {"message": "nobody is chosen"}],
        "disconnects": [{"device": "m1", "md": "c1-lan", "vm": "c3-lan", "vcp": "blue", "at": at}],
        "leases": [lease],
        "tests": [test],
    }
    result = weft("policy", "plan", good)
    assert result.out.splitlines()[:-1] == [
        "~ VCP metro-1 falls into metro-1, metro-3",
        "~ migration.rtt_ms: 150 → 100",
        "+ access.blue.web: 1. drop tcp",
        "- tenants.acme.vcps: blue",
        "· c7-lan joins blue later: its cloudlet c7 is pending",
        "✓ test 't' passed: isolated",
        "! m1 (md) holds 10.1.0.2 at c1-lan: it is reserved for m2",
    ]
    assert result.err.splitlines() == [
        f"{good}:4:5: warning: nobody is chosen",
        "      members: [c1-lan]",
        "      ^",
        f"{good}:4:5: m1 would be cut off",
        "      members: [c1-lan]",
        "      ^",
        f"weft: {good}: would be refused, unless it is applied with --allow-disconnect",
    ]
    assert result.code == 1


def test_what_was_planned_is_what_is_applied(controller: Controller, weft: Weft, good: str, state: Path) -> None:
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    controller.answers["POST", "/api/v1/policy/apply"] = APPLIED

    def asked() -> list[tuple[str, str | None, str | None]]:
        found = [(r.url.path, r.headers.get("If-Match"), r.url.params.get("planned")) for r in controller.asked]
        controller.asked.clear()
        return [(where.rpartition("/")[2], tag, mark) for where, tag, mark in found]

    assert weft("policy", "plan", good).code == weft("policy", "apply", good).code == 0
    assert asked() == [("plan", None, None), ("apply", '"a-7"', "41-0123456789ab")]
    assert weft("policy", "apply", good).code == 0  # based on the applied revision, without a new plan
    assert asked() == [("apply", '"a-8"', None)]
    weft("policy", "plan", good)
    Path(good).write_text(GOOD + "# edited since\n")
    weft("policy", "apply", good)
    assert asked() == [("plan", None, None), ("apply", '"a-7"', None)]
    weft("policy", "apply", "--anew", good)
    assert asked() == [("plan", None, None), ("apply", '"a-7"', "41-0123456789ab")]
    state.write_text("[]")
    weft("policy", "apply", good)
    assert [verb for verb, _, _ in asked()] == ["plan", "apply"]
    weft("--url", "http://elsewhere.test", "policy", "apply", good)
    assert [verb for verb, _, _ in asked()] == ["plan", "apply"]


def test_consents_are_counted_where_they_were_when_it_was_planned(
    controller: Controller, weft: Weft, good: str
) -> None:
    """`weft` names the way out itself; the controller would only answer that the change differs from the planned
    one."""
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {"unconsented": ["c1-lan"]}
    controller.answers["POST", "/api/v1/policy/apply"] = APPLIED

    planned = weft("policy", "plan", good)
    assert planned.code == 1 and "--hold-back; or plan it with --count-consented, and apply it with that" in planned.err
    refused = weft("policy", "apply", good, "--count-consented")
    assert refused.code == 1 and refused.err == (
        f"weft: {good}: was planned without --count-consented, and with it something else would be done: plan it again "
        "with it, or apply it without it; nothing was changed\n"
    )
    assert controller.last.url.path.endswith("/plan")
    assert weft("policy", "apply", good, "--hold-back").code == 0

    assert weft("policy", "plan", good, "--count-consented").code == 0
    assert "was planned with --count-consented, and without it" in weft("policy", "apply", good, "--hold-back").err
    assert weft("policy", "apply", good, "--count-consented").code == 0
    assert controller.last.url.params["planned"] == PLANNED["planned"]

    weft("policy", "plan", good)
    assert weft("policy", "apply", good, "--count-consented", "--anew").code == 0, "it is planned as it is applied"
    assert controller.asked[-2].url.params["count_consented"] == "true"
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {"unconsented": []}
    weft("policy", "plan", good)
    assert weft("policy", "apply", good, "--count-consented").code == 0, "there are none to count"


def test_somebody_else_was_quicker(controller: Controller, weft: Weft, good: str) -> None:
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    weft("policy", "plan", good)
    conflict = problem(412, "Precondition Failed", "Another policy has come into force meanwhile: revision 8.")
    body = conflict.json() | {"diff": "--- revision 7\n+++ revision 8\n-  red:\n"}
    controller.answers["POST", "/api/v1/policy/apply"] = httpx.Response(412, json=body)
    result = weft("policy", "apply", good)
    assert result.code == 3 and result.err.splitlines() == [
        f"weft: {good}: Another policy has come into force meanwhile: revision 8.",
        "--- revision 7",
        "+++ revision 8",
        "-  red:",
    ]
    assert len(controller.asked) == 2
    tags = []

    def elsewhere(request: httpx.Request) -> httpx.Response:
        tags.append(request.headers["If-Match"])
        return conflict if len(tags) == 1 else httpx.Response(200, json=APPLIED)

    controller.answers["POST", "/api/v1/policy/apply"] = elsewhere  # a region that does not know revision 7
    assert weft("policy", "apply", good).code == 0 and len(tags) == 2


def test_a_vm_that_would_be_cut_off_is_named(controller: Controller, weft: Weft, good: str) -> None:
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    at = {"file": good, "line": 4, "column": 5, "field": "vcps.blue.members", "message": "m1 would be cut off"}
    refused = problem(409, "Conflict", "The policy would cut 1 device off.", at)
    controller.answers["POST", "/api/v1/policy/apply"] = refused
    result = weft("policy", "apply", good)
    assert result.code == 3 and result.err.splitlines() == [
        f"{good}:4:5: m1 would be cut off",
        "      members: [c1-lan]",
        "      ^",
        f"weft: {good}: The policy would cut 1 device off; nothing was changed",
    ]
    controller.answers["POST", "/api/v1/policy/apply"] = APPLIED
    assert weft("policy", "apply", good, "--allow-disconnect", "--strict").code == 0
    assert controller.last.url.params["allow_disconnect"] == controller.last.url.params["strict"] == "true"


def test_tests_inside(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    path = tmp_path / "promise.yaml"
    path.write_text(
        GOOD.replace("]", ", c2-lan]") + "tests:\n  - name: calm\n    isolated: {from: c1-lan, to: c2-lan}\n"
    )
    result = weft("policy", "test", "--offline", str(path))
    assert result.code == 1 and "✗ test 'calm' failed" in result.out
    assert f"{path}:6:5: test 'calm' failed" in result.err
    assert weft("policy", "check", "--offline", str(path)).code == 1
    said = {"file": str(path), "line": 6, "column": 5, "field": "tests[0]", "message": "test 'calm' passed: move"}
    answer = {"ok": True, "tests": [{"name": "calm", "outcome": "passed", "said": said}]}
    controller.answers["POST", "/api/v1/policy/test"] = answer
    result = weft("policy", "test", str(path))
    assert (result.code, result.out) == (0, f"✓ test 'calm' passed: move\n{path}: 1 passed\n")


def test_history(controller: Controller, weft: Weft) -> None:
    row = {
        "revision": 8,
        "filename": "pools.yaml",
        "generation": 44,
        "applied_at": "2026-01-01T10:00:00Z",
        "applied_by": "token ana",
        "note": "rollback to revision 6",
        "withdrawn_at": None,
        "in_force": True,
        "summary": {"join": [1, 2], "create": [1], "delete": [], "leave": [], "settings": []},
    }
    controller.answers["GET", "/api/v1/policy/revisions"] = {"items": [row, row | {"withdrawn_at": "2026"}]}
    result = weft("policy", "history")
    assert "in force" in result.out and "withdrawn" in result.out and "1 VCPs made, 2 joins" in result.out
    assert "BY" in result.out.splitlines()[0] and "token ana" in result.out
    controller.answers["GET", "/api/v1/policy/revisions/8"] = row | {"text": GOOD}
    assert weft("policy", "show", "8").out == GOOD
    controller.answers["GET", "/api/v1/policy/diff"] = {"before": 6, "after": 8, "diff": "-a\n+b\n"}
    assert weft("policy", "diff", "6").out == "-a\n+b\n"
    controller.answers["POST", "/api/v1/policy/rollback"] = APPLIED
    controller.answers["GET", "/api/v1/policy"] = {"revision": 8, "etag": '"a-8"', "back_to": 5}
    result = weft("policy", "rollback", "6", "--confirm-within", "60")
    assert result.code == 0 and "rollback from revision 8 to 6: in force after" in result.out
    assert dict(controller.last.url.params) == {"revision": "6", "confirm_within": "60"}
    assert "rollback from revision 8 to 5: in force after" in weft("policy", "rollback").out
    assert dict(controller.last.url.params) == {"revision": "5"} and controller.last.headers["If-Match"] == '"a-8"'
    conflict = problem(412, "Precondition Failed", "Another policy has come into force meanwhile: revision 9.")
    body = conflict.json() | {"diff": "--- revision 8\n+++ revision 9\n"}
    controller.answers["POST", "/api/v1/policy/rollback"] = httpx.Response(412, json=body)
    late = weft("policy", "rollback")
    assert late.code == 3 and late.err.startswith("weft: rollback from revision 8 to 5: Another policy has come into")
    nothing = problem(409, "Conflict", "no other policy was in force before: there is nothing to go back to")
    controller.answers["POST", "/api/v1/policy/rollback"] = nothing
    controller.answers["GET", "/api/v1/policy"] = {"revision": None, "etag": '"0-0"', "back_to": None}
    assert "there is nothing to go back to" in weft("policy", "rollback").err
    assert dict(controller.last.url.params) == {} and controller.last.headers["If-Match"] == '"0-0"'


def test_drift(controller: Controller, weft: Weft) -> None:
    nothing = {"drift": False, "revision": 8, "plan": {k: [] for k in PLAN}, "failing": [], "trouble": []}
    controller.answers["GET", "/api/v1/policy/drift"] = nothing
    assert weft("policy", "drift").out == "nothing to change\n"
    out = [{"vcp": "blue", "endpoint": "c4-lan", "why": "its prefix overlaps"}]
    controller.answers["GET", "/api/v1/policy/drift"] = nothing | {"drift": True, "plan": PLAN | {"out": out}}
    result = weft("policy", "drift")
    assert result.code == 1 and "! c4-lan cannot be in blue: its prefix overlaps" in result.out
    assert result.err == "weft: not as revision 8 of the policy says\n"


def test_apply(controller: Controller, weft: Weft, good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change = {
        "generation": 4,
        "in_force": True,
        "duration_ms": 20.0,
        "route_servers": [],
        "agents": [],
        "unreachable": [],
    }
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    controller.answers["POST", "/api/v1/policy/apply"] = change | {"plan": PLAN, "etag": '"a-8"'}
    monkeypatch.setattr("sys.stdin", io.StringIO(GOOD))
    result = weft("policy", "apply", "-")
    assert result.code == 0 and "+ VCP blue" in result.out and "in force after 20 ms" in result.out
    assert controller.last.url.params["filename"] == "-"
    controller.answers["POST", "/api/v1/policy/apply"] = change | {"plan": PLAN, "etag": '"a-8"', "in_force": False}
    assert weft("policy", "apply", good).code == 1


def test_show(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/policy"] = {"text": GOOD}
    assert weft("policy", "show").out == GOOD
    controller.answers["GET", "/api/v1/policy"] = {"text": ""}
    assert weft("policy", "show").code == 1


def test_files_that_cannot_be_read(weft: Weft, tmp_path: Path) -> None:
    missing = weft("policy", "check", str(tmp_path / "none.yaml"))
    assert missing.code == 2 and "none.yaml: No such file" in missing.err
    assert weft("policy", "check", str(tmp_path)).code == 2
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff")
    result = weft("policy", "check", str(binary))
    assert result.code == 1 and "not UTF-8" in result.err


def test_what_pes_would_filter(controller: Controller, weft: Weft, good: str) -> None:
    filters = [{"endpoint": "c2-lan", "new": 2, "gone": 1, "specifications": ["- from a to b: drop"]}]
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {"filters": filters}
    out = weft("policy", "plan", good).out
    assert "~ c2-lan filters 2 specifications more, 1 fewer\n    - from a to b: drop\n" in out


def test_many_agents_are_counted(controller: Controller, weft: Weft, good: str) -> None:
    agents = [{"cloudlet": f"c{n}", "confirmed": n != 7, "after_ms": 10.0 + n} for n in range(40)]
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {"change": CHANGE | {"agents": agents}}
    assert "agents of 40 cloudlets  would be told" in weft("policy", "plan", good).out
    controller.answers["POST", "/api/v1/policy/apply"] = APPLIED | {"agents": agents}
    out = weft("policy", "apply", good).out
    assert "agents of 39 cloudlets  kernels agree" in out and "49 ms" in out
    assert "agent of c7             has not confirmed" in out and "agent of c8" not in out


def test_routes_by_pe(controller: Controller, weft: Weft, good: str) -> None:
    peers = [{"peer": f"c{n}", "announced": n, "withdrawn": 1} for n in range(25)]
    receipt = {"route_server": "rs1", "announced": 300, "withdrawn": 25, "peers": peers, "duration_us": 100}
    change = CHANGE | {"route_servers": [receipt | {"dry_run": True}]}
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED | {"change": change}
    out = weft("policy", "plan", good).out
    assert "~ routes at c24: 24 appear, 1 disappear\n" in out and "~ and at 5 more PEs" in out
