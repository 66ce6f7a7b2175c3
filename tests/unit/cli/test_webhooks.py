"""`weft webhook`: secrets go to files, and wrong options are named."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Controller, Weft, problem

MADE = {"name": "chat", "url": "https://h.example.net/", "secret": "whsec_S3CRET", "position": 7}
ADD = ("webhook", "add", "chat", "--at", "https://h.example.net/")


def test_a_new_secret_is_shown_once_or_goes_to_a_file(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    controller.answers["POST", "/api/v1/webhooks"] = MADE
    result = weft(*ADD)
    assert result.out.splitlines()[-1] == "whsec_S3CRET" and "only time" in result.out
    for more in ((), ("-o", "json")):
        file = tmp_path / f"secret{len(more)}"
        result = weft(*ADD, "--to", str(file), *more)
        assert result.code == 0 and "S3CRET" not in result.out
        assert file.read_text() == "whsec_S3CRET\n" and file.stat().st_mode & 0o777 == 0o600
    controller.answers["POST", "/api/v1/webhooks"] = problem(409, "Conflict", "there is a webhook chat already")
    assert weft(*ADD, "--to", str(tmp_path / "none")).code == 3 and not (tmp_path / "none").exists()


def test_a_secret_of_one_s_own_is_sent_and_not_shown(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("whsec_M1NE\n")
    (tmp_path / "root").write_text("-----BEGIN CERTIFICATE-----\n")
    controller.answers["POST", "/api/v1/webhooks"] = MADE | {"secret": None}
    result = weft(*ADD, "--secret-file", str(tmp_path / "mine"), "--root-file", str(tmp_path / "root"))
    assert result.code == 0 and "M1NE" not in result.out
    assert controller.body["secret"] == "whsec_M1NE" and controller.body["root"] == "-----BEGIN CERTIFICATE-----"


def test_filters_and_roots_are_taken_away(controller: Controller, weft: Weft) -> None:
    controller.answers["PATCH", "/api/v1/webhooks/chat"] = MADE | {"secret": None}
    result = weft("webhook", "set", "chat", "--type", "", "--about", "web", "--root-file", "")
    assert result.code == 0 and controller.body == {"type": None, "about": "web", "root": None}


def test_a_test_that_fails_is_a_failed_check(controller: Controller, weft: Weft) -> None:
    answer = {"delivered": False, "status": None, "milliseconds": 10000, "reason": "no answer within 10 s"}
    controller.answers["POST", "/api/v1/webhooks/chat/test"] = answer
    result = weft("webhook", "test", "chat")
    assert result.code == 1 and "gave no answer" in result.out and "no answer within 10 s" in result.err
    result = weft("webhook", "test", "chat", "-o", "json")
    assert result.code == 1 and result.json == answer


def test_a_replay_since_a_time(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/webhooks/chat/replay"] = MADE
    result = weft("webhook", "replay", "chat", "--since", "2026-01-31T12:00")
    assert controller.body == {"since": "2026-01-31T12:00:00+00:00"} and "after event 7" in result.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("set", "chat"), "nothing to set"),
        (("set", "chat", "--pause", "--resume"), "exclude each other"),
        (("set", "chat", "--new-secret", "--secret-file", "/dev/null"), "takes yours"),
        (("set", "chat", "--resume", "--to", "/nowhere/file"), "--new-secret"),
        (("add", "chat", "--at", "https://h/", "--to", "/nowhere/file", "--secret-file", "/dev/null"), "takes yours"),
        (("add", "chat", "--at", "https://h/", "--secret-file", "/nowhere"), "--secret-file: cannot read /nowhere"),
        (("add", "chat", "--at", "https://h/", "--root-file", "/nowhere"), "--root-file: cannot read /nowhere"),
        (("replay", "chat"), "one of --since and --after"),
        (("replay", "chat", "--since", "2h", "--after", "1"), "one of --since and --after"),
    ],
)
def test_wrong_usage(controller: Controller, weft: Weft, words: tuple[str, ...], reason: str) -> None:
    result = weft("webhook", *words)
    assert result.code == 2 and reason in result.err and not controller.asked
