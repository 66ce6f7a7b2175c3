"""`weft inventory`: the command and the controller check the file; plans are shown, tokens are written to files."""

import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Controller, Weft, problem

GOOD = "apiVersion: weft/inventory/v1\ncloudlets:\n  c1: {pe: vpls, vtep: 192.0.2.1}\n"


def step(action: str, section: str, name: str, **fields: Any) -> dict[str, Any]:
    told = [{"field": field, "before": was, "after": now} for field, (was, now) in fields.items()]
    return {"action": action, "section": section, "name": name, "fields": told}


PLAN = {
    "steps": [
        step("remove", "vms", "web"),
        step("change", "endpoints", "c2-lan", mtu=(1450, 1400), ports=([], ["md*", "eth1"]), tenant=("acme", None)),
        step("create", "cloudlets", "c1", pe=(None, "vpls"), vtep=(None, "192.0.2.1"), labels=(None, {"b": 1, "a": 2})),
        step("create", "cloudlets", "r1", pe=(None, "evpn"), unmanaged=(None, True)),
    ],
    "adopted": {"devices": 1},
    "untouched": {"endpoints": 2, "vms": 1},
}
NOTHING: dict[str, Any] = {"steps": [], "adopted": {}, "untouched": {}}
CHANGE = {
    "generation": 8,
    "in_force": False,
    "duration_ms": 2.0,
    "dry_run": True,
    "interrupted": [{"kind": "endpoint", "name": "c2-lan", "what": "its LAN ends"}],
}
PLANNED = {
    "plan": PLAN,
    "warnings": [],
    "revision": 7,
    "etag": '"a-7"',
    "generation": 41,
    "planned": "41-0123456789ab",
    "disconnects": [],
    "change": CHANGE,
}
APPLIED = {
    "generation": 42,
    "in_force": True,
    "duration_ms": 3.0,
    "revision": 8,
    "etag": '"a-8"',
    "plan": PLAN,
    "warnings": [],
    "disconnects": [],
    "tokens": {"c1": "secret-of-c1"},
    "tokens_expire_at": "2026-01-01T00:00:00Z",
}
LINES = [
    "- VM web",
    "~ endpoint c2-lan: mtu 1450 → 1400, ports none → md* eth1, tenant acme → none",
    "+ cloudlet c1: pe vpls, vtep 192.0.2.1, labels a=2 b=1",
    "+ cloudlet r1: pe evpn, unmanaged true",
    "· named from now on: 1 device",
    "· named by no inventory, and left alone: 2 endpoints, 1 VM",
]


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "inventory.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def region(controller: Controller) -> Controller:
    controller.answers["POST", "/api/v1/inventory/plan"] = PLANNED
    controller.answers["POST", "/api/v1/inventory/apply"] = lambda _: httpx.Response(200, json=APPLIED)
    return controller


def test_a_form_is_checked_without_a_controller(weft: Weft, good: str, tmp_path: Path) -> None:
    assert weft("inventory", "check", "--offline", good).out == f"{good}: right (form only)\n"
    bad = tmp_path / "bad.yaml"
    bad.write_text(GOOD.replace("vtep", "vetp"))
    result = weft("inventory", "check", "--offline", good, str(bad))
    assert result.code == 1 and result.err.splitlines()[:3] == [
        f"{bad}:3:18: unknown key 'vetp': did you mean 'vtep'?",
        "    c1: {pe: vpls, vetp: 192.0.2.1}",
        " " * 19 + "^",
    ]
    found = weft("inventory", "check", "--offline", good, str(bad), "-o", "json").json
    assert [(one["ok"], len(one["errors"])) for one in found] == [(True, 0), (False, 1)]
    assert found[1]["errors"][0]["suggestion"] == "vtep"
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: weft/v1\nvcps: {}\n")
    assert "this is a policy, not an inventory: `weft policy` takes it" in weft("inventory", "check", str(policy)).err


def test_the_controllers_errors_are_shown_the_same_way(controller: Controller, weft: Weft, good: str) -> None:
    error = {"file": good, "line": 3, "column": 18, "field": "cloudlets.c1.vtep", "message": "it is c9's VTEP"}
    for verb in ("check", "plan", "apply"):
        controller.answers["POST", f"/api/v1/inventory/{verb}"] = problem(422, "Invalid", "1 error", error)
    shown = [f"{good}:3:18: it is c9's VTEP", "    c1: {pe: vpls, vtep: 192.0.2.1}", " " * 19 + "^"]
    result = weft("inventory", "check", good)
    assert result.code == 1 and result.err.splitlines()[:3] == shown
    assert controller.last.headers["Content-Type"] == "application/yaml" and controller.last.content == GOOD.encode()
    for verb in ("plan", "apply"):
        result = weft("inventory", verb, good)
        assert result.code == 3 and result.err.splitlines()[:3] == shown
        assert result.err.splitlines()[-1] == f"weft: {good}: not right; nothing was changed"


def test_a_check_asks_the_region_too(controller: Controller, weft: Weft, good: str) -> None:
    at = {"file": good, "line": 3, "column": 3, "field": "vms.web.endpoint", "message": "web is elsewhere by now"}
    controller.answers["POST", "/api/v1/inventory/check"] = {"ok": True, "plan": NOTHING, "warnings": [at]}
    result = weft("inventory", "check", good)
    assert result.code == 0 and result.out == f"{good}: right (form, and the region at the controller)\n"
    assert f"{good}:3:3: warning: web is elsewhere by now" in result.err


def test_a_plan_is_printed_as_a_diff(region: Controller, weft: Weft, good: str) -> None:
    result = weft("inventory", "plan", good)
    assert result.code == 0 and result.out.splitlines() == [
        *LINES,
        "! endpoint c2-lan: its LAN ends",
        "tokens would be made for c1: apply it with --tokens-to",
        "planned at generation 41, against revision 7; nothing was changed",
    ]
    at = {"file": good, "line": 3, "column": 3, "field": "endpoints", "message": "m1 would be cut off"}
    region.answers["POST", "/api/v1/inventory/plan"] = PLANNED | {"plan": NOTHING, "disconnects": [{"at": at}]}
    harmful = weft("inventory", "plan", good)
    assert harmful.code == 1 and harmful.out.startswith("nothing to change\n")
    assert f"{good}:3:3: m1 would be cut off" in harmful.err and "--allow-disconnect" in harmful.err
    assert weft("inventory", "plan", good, "-o", "json").json["planned"] == PLANNED["planned"]


def test_tokens_are_written_to_new_files_of_their_own(
    region: Controller, weft: Weft, good: str, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    result = weft("inventory", "apply", good, "--tokens-to", str(tokens), "--token-seconds", "60")
    assert result.code == 0 and "secret-of-c1" not in result.out + result.err
    assert result.out.splitlines()[: len(LINES)] == LINES
    assert f"tokens of c1 are in {tokens}; each is good once" in result.out
    assert (tokens / "c1.token").read_text() == "secret-of-c1\n"
    assert stat.S_IMODE((tokens / "c1.token").stat().st_mode) == 0o600
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o700
    assert [path.name for path in tokens.iterdir()] == ["c1.token"], "an unmanaged cloudlet has none"
    assert region.last.url.params["token_seconds"] == "60"
    again = weft("inventory", "apply", good, "--tokens-to", str(tokens))
    assert again.code == 2 and f"--tokens-to: cannot make {tokens}/c1.token: File exists" in again.err
    assert region.last.url.path.endswith("/plan"), "no token is told in vain"
    document = weft("inventory", "apply", good, "--tokens-to", str(tmp_path / "more"), "-o", "json")
    assert document.json["tokens"] == {} and (tmp_path / "more" / "c1.token").exists()


def test_a_token_without_a_file_is_shown_once(region: Controller, weft: Weft, good: str) -> None:
    result = weft("inventory", "apply", good)
    assert "c1 enrols with this token, once, until it expires" in result.out and "  secret-of-c1\n" in result.out
    assert weft("inventory", "apply", good, "-o", "json").json["tokens"] == {"c1": "secret-of-c1"}


def test_no_file_stays_if_the_controller_refuses(region: Controller, weft: Weft, good: str, tmp_path: Path) -> None:
    region.answers["POST", "/api/v1/inventory/apply"] = problem(409, "Conflict", "change 9 is on trial")
    tokens = tmp_path / "tokens"
    assert weft("inventory", "apply", good, "--tokens-to", str(tokens)).code == 3
    assert list(tokens.iterdir()) == []
    (tmp_path / "file").touch()
    wrong = weft("inventory", "apply", good, "--tokens-to", str(tmp_path / "file"))
    assert wrong.code == 2 and "--tokens-to: cannot make" in wrong.err


def test_a_rehearsal_makes_no_files(region: Controller, weft: Weft, good: str, tmp_path: Path) -> None:
    region.answers["POST", "/api/v1/inventory/apply"] = CHANGE | {"plan": PLAN, "etag": '"a-7"', "tokens": {}}
    tokens = tmp_path / "tokens"
    told = weft("inventory", "apply", "--dry-run", good, "--tokens-to", str(tokens))
    assert told.code == 0 and f"{good}: this is what would happen" in told.out.splitlines()
    assert region.last.url.params["dry_run"] == "true" and list(tokens.iterdir()) == []


def test_what_was_planned_is_what_is_applied(region: Controller, weft: Weft, good: str, tmp_path: Path) -> None:
    def asked() -> list[tuple[str, str | None, str | None]]:
        found = [(r.url.path, r.headers.get("If-Match"), r.url.params.get("planned")) for r in region.asked]
        region.asked.clear()
        return [(where.rpartition("/")[2], tag, mark) for where, tag, mark in found]

    assert weft("inventory", "plan", good).code == weft("inventory", "apply", good).code == 0
    assert asked() == [("plan", None, None), ("apply", '"a-7"', "41-0123456789ab")]
    region.answers["POST", "/api/v1/inventory/plan"] = PLANNED | {"etag": '"a-9"'}
    weft("inventory", "apply", good)  # based on the applied revision, and planned anew
    assert asked() == [("plan", None, None), ("apply", '"a-8"', "41-0123456789ab")]
    weft("inventory", "apply", "--anew", good)
    assert asked() == [("plan", None, None), ("apply", '"a-9"', "41-0123456789ab")]
    weft("inventory", "plan", good)
    weft("inventory", "apply", good, "--tokens-to", str(tmp_path / "tokens"), "--confirm-within", "60")
    assert asked() == [("plan", None, None), ("plan", None, None), ("apply", '"a-9"', "41-0123456789ab")]


def test_somebody_else_was_quicker(region: Controller, weft: Weft, good: str) -> None:
    weft("inventory", "plan", good)
    conflict = problem(412, "Precondition Failed", "Another inventory has come into force meanwhile: revision 8.")
    body = conflict.json() | {"diff": "--- revision 7\n+++ revision 8\n"}
    region.answers["POST", "/api/v1/inventory/apply"] = httpx.Response(412, json=body)
    result = weft("inventory", "apply", good)
    assert result.code == 3 and result.err.splitlines()[1:] == ["--- revision 7", "+++ revision 8"]
    tags = []

    def elsewhere(request: httpx.Request) -> httpx.Response:
        tags.append(request.headers["If-Match"])
        return conflict if len(tags) == 1 else httpx.Response(200, json=APPLIED)

    region.answers["POST", "/api/v1/inventory/apply"] = elsewhere  # a region that does not know revision 7
    assert weft("inventory", "apply", good).code == 0 and len(tags) == 2


REVISION = {
    "revision": 8,
    "filename": "inventory.yaml",
    "generation": 42,
    "applied_at": "2026-01-01T00:00:00Z",
    "applied_by": "ada",
    "note": "",
    "withdrawn_at": None,
    "in_force": True,
    "summary": PLAN,
}


def test_the_history_is_listed_and_shown(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/inventory/revisions"] = {"items": [REVISION], "next": None}
    listed = weft("inventory", "history").out
    assert "ada" in listed and "in force" in listed and "2 made, 1 changed, 1 removed" in listed
    shown = {"revision": 8, "etag": '"a-8"', "back_to": 7, "text": GOOD}
    controller.answers["GET", "/api/v1/inventory"] = shown
    assert weft("inventory", "show").out == GOOD
    controller.answers["GET", "/api/v1/inventory"] = shown | {"text": ""}
    assert "no inventory has been applied" in weft("inventory", "show").err
    controller.answers["GET", "/api/v1/inventory/revisions/7"] = {"text": "seven\n"}
    assert weft("inventory", "show", "7").out == "seven\n"
    controller.answers["GET", "/api/v1/inventory/diff"] = {"before": 7, "after": 8, "diff": ""}
    assert weft("inventory", "diff", "7").out == "the same, word for word\n"
    controller.answers["GET", "/api/v1/inventory/export"] = {"text": GOOD}
    assert weft("inventory", "export").out == GOOD


def test_a_rollback_writes_tokens_too(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    controller.answers["GET", "/api/v1/inventory"] = {"revision": 8, "etag": '"a-8"', "back_to": 7, "text": GOOD}
    controller.answers["POST", "/api/v1/inventory/rollback"] = lambda _: httpx.Response(200, json=APPLIED)
    result = weft("inventory", "rollback", "--tokens-to", str(tmp_path / "tokens"))
    assert result.code == 0 and "rollback from revision 8 to 7: in force" in result.out
    assert [request.url.params.get("dry_run") for request in controller.asked[1:]] == ["true", None]
    assert controller.last.headers["If-Match"] == '"a-8"' and controller.last.url.params["revision"] == "7"
    assert (tmp_path / "tokens" / "c1.token").read_text() == "secret-of-c1\n"
    conflict = problem(412, "Precondition Failed", "Another inventory has come into force meanwhile: revision 9.")
    body = conflict.json() | {"diff": "--- revision 8\n+++ revision 9\n"}
    controller.answers["POST", "/api/v1/inventory/rollback"] = httpx.Response(412, json=body)
    assert "rollback from revision 8 to 7: Another inventory" in weft("inventory", "rollback").err


def test_drift_ends_with_1(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/inventory/drift"] = {
        "drift": False, "revision": 8, "plan": NOTHING, "trouble": []
    }  # fmt: skip
    assert weft("inventory", "drift").code == 0
    at = {"file": "i.yaml", "line": 1, "column": 1, "field": "", "message": "not YAML"}
    controller.answers["GET", "/api/v1/inventory/drift"] = {
        "drift": True, "revision": 8, "plan": PLAN, "trouble": [at]
    }  # fmt: skip
    result = weft("inventory", "drift")
    assert result.code == 1 and LINES[1] in result.out.splitlines()
    assert "i.yaml:1:1: not YAML" in result.err and "not as revision 8 of the inventory says" in result.err
