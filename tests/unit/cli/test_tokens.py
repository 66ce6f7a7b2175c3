"""`weft token`, and the sources of `weft`'s own token: never its command line."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Controller, Weft, problem

MADE = {"name": "ana", "role": "operator", "state": "good", "expires_at": None, "revoked_at": None, "token": "S3CRET"}


def test_a_new_token_is_shown_once(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/tokens"] = MADE
    result = weft("token", "add", "ana", "--role", "operator", "--days", "2")
    assert result.code == 0 and result.out.splitlines()[-1] == "S3CRET"
    assert controller.body == {"name": "ana", "role": "operator", "seconds": 172_800}
    assert weft("token", "add", "ana", "--role", "operator", "-o", "json").json == MADE
    assert weft("token", "add", "ana", "--role", "king").code == 2
    assert weft("token", "add", "ana", "--role", "tenant", "--tenant", "acme", "-o", "json").json == MADE
    assert controller.body == {"name": "ana", "role": "tenant", "tenant": "acme", "seconds": 30 * 86_400}


def test_a_new_token_goes_to_a_file(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    controller.answers["POST", "/api/v1/tokens"] = MADE
    file = tmp_path / "ana.token"
    for more in ((), ("-o", "json")):
        result = weft("token", "add", "ana", "--role", "operator", "--to", str(file), *more)
        assert result.code == 0 and "S3CRET" not in result.out
        assert file.read_text() == "S3CRET\n" and file.stat().st_mode & 0o777 == 0o600
        result = weft("token", "add", "ana", "--role", "operator", "--to", str(file))
        assert result.code == 2 and "cannot make" in result.err and file.read_text() == "S3CRET\n"
        file.unlink()
    controller.answers["POST", "/api/v1/tokens"] = problem(409, "Conflict", "a name is given once")
    assert weft("token", "add", "ana", "--role", "operator", "--to", str(file)).code == 3
    assert not file.exists()


def test_list_and_revoke(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/tokens"] = {"items": [MADE], "next": None}
    assert "operator" in weft("token", "list").out
    controller.answers["DELETE", "/api/v1/tokens/ana"] = {}
    assert weft("token", "revoke", "ana").out == "token ana is revoked\n"


def test_the_token_of_a_file(
    controller: Controller, weft: Weft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    controller.answers["GET", "/api/v1/tokens"] = {"items": [], "next": None}
    (tmp_path / "mine").write_text("of-a-file\n")
    monkeypatch.setenv("WEFT_TOKEN", "of-the-environment")
    monkeypatch.setenv("WEFT_TOKEN_FILE", str(tmp_path / "mine"))
    assert weft("token", "list").code == 0
    assert controller.last.headers["Authorization"] == "Bearer of-a-file"
    monkeypatch.setenv("WEFT_TOKEN_FILE", str(tmp_path / "none"))
    result = weft("token", "list")
    assert result.code == 2 and "WEFT_TOKEN_FILE: cannot read" in result.err


def test_a_cloudlets_token_goes_into_a_file(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    told = {"name": "c1", "token": "SECRET-1", "token_expires_at": "2026-11-30T10:00:00Z"}
    controller.answers["POST", "/api/v1/cloudlets"] = told
    controller.answers["POST", "/api/v1/cloudlets/c1/token"] = told
    for number, words in enumerate((("add", "c1", "--vtep", "192.0.2.1"), ("token", "c1"))):
        file = tmp_path / str(number)
        result = weft("cloudlet", *words, "--to", str(file))
        assert result.code == 0 and "SECRET" not in result.out and str(file) in result.out
        assert file.read_text() == "SECRET-1\n" and file.stat().st_mode & 0o777 == 0o600
        assert "SECRET" not in weft("cloudlet", *words, "--to", str(tmp_path / f"{number}b"), "-o", "json").out
        assert weft("cloudlet", *words, "--to", str(file)).code == 2
    controller.answers["POST", "/api/v1/cloudlets/c1/token"] = problem(409, "Conflict", "revoked")
    assert weft("cloudlet", "token", "c1", "--to", str(tmp_path / "none")).code == 3
    assert not (tmp_path / "none").exists()
    unmanaged = ("--vtep", "192.0.2.9", "--unmanaged", "--to", str(tmp_path / "none"))
    assert weft("cloudlet", "add", "r1", *unmanaged).code == 2
