"""`weft policy`: checked here and at the controller, errors shown with their lines."""

import io
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Controller, Weft, problem

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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves the socket to gc
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
        f"{bad}:5:15: 'B' is no name: 1 to 63 lower-case letters, digits and hyphens, beginning and ending with a "
        "letter or digit.",
        "      members: [B]",
        "                ^",
    ]
    found = weft("policy", "check", good, str(bad), "--offline", "-o", "json").json
    assert [(r["ok"], len(r["errors"])) for r in found] == [(True, 0), (False, 2)]
    assert found[1]["errors"][0]["line"] == 4


def test_the_controllers_errors_are_shown_the_same_way(controller: Controller, weft: Weft, good: str) -> None:
    error = {"file": good, "line": 4, "column": 15, "field": "vcps.blue.members[0]", "message": "there is no endpoint"}
    for verb in ("check", "apply"):
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


def test_a_plan_is_printed_as_a_diff(controller: Controller, weft: Weft, good: str) -> None:
    controller.answers["POST", "/api/v1/policy/check"] = {"ok": True, "plan": PLAN}
    result = weft("policy", "plan", good)
    assert result.code == 0
    assert result.out.splitlines() == [
        "+ VCP blue",
        "~ VCP old comes under the policy",
        "~ VCP old is described anew",
        "- VCP red",
        "+ c1-lan joins blue",
        "- c9-lan leaves old",
    ]
    rehearsed = {"generation": 8, "in_force": False, "duration_ms": 2.0, "dry_run": True, "plan": PLAN}
    controller.answers["POST", "/api/v1/policy/apply"] = rehearsed
    told = weft("policy", "apply", "--dry-run", good)
    assert told.code == 0 and told.out == result.out + f"{good}: this is what would happen\n"
    assert controller.last.url.params["dry_run"] == "true"
    assert [request.url.path.rpartition("/")[2] for request in controller.asked] == ["check", "apply"]
    controller.answers["POST", "/api/v1/policy/check"] = {"ok": True, "plan": {key: [] for key in PLAN}}
    assert weft("policy", "plan", good).out == "nothing to change\n"


def test_apply(controller: Controller, weft: Weft, good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change = {
        "generation": 4,
        "in_force": True,
        "duration_ms": 20.0,
        "route_servers": [],
        "agents": [],
        "unreachable": [],
    }
    controller.answers["POST", "/api/v1/policy/apply"] = change | {"plan": PLAN}
    monkeypatch.setattr("sys.stdin", io.StringIO(GOOD))
    result = weft("policy", "apply", "-")
    assert result.code == 0 and "+ VCP blue" in result.out and "in force after 20 ms" in result.out
    assert controller.last.url.params["filename"] == "-"
    controller.answers["POST", "/api/v1/policy/apply"] = change | {"plan": PLAN, "in_force": False}
    assert weft("policy", "apply", good).code == 1


def test_a_bad_form_is_not_sent(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("vcps: [")
    result = weft("policy", "apply", str(bad))
    assert result.code == 1 and "nothing was changed" in result.err and not controller.asked


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
