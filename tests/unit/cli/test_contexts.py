"""Contexts: which controller a command asks, with which token, and which root it trusts."""

import json
from pathlib import Path

import pytest

from controller.cli import contexts
from controller.cli.destination import destination
from tests.unit.cli.conftest import Controller, Weft

URL = "https://north.test:8443"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of contexts; no controller is chosen otherwise."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("WEFT_URL", "WEFT_CONTEXT", "WEFT_TOKEN_FILE", "WEFT_ROOT_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config" / "weft" / "contexts.json"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "north.token"
    file.write_text("S3CRET\n")
    return file


@pytest.fixture
def asked(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Controller:
    monkeypatch.delenv("WEFT_URL")
    controller.answers["GET", "/api/v1/vcps"] = {"items": [], "next": None}
    return controller


def test_the_first_context_is_the_present_one(weft: Weft, here: Path, token: Path) -> None:
    assert weft("context", "list").out == "no contexts yet: `weft context add` makes one\n"
    said = weft("context", "add", "north", "--at", URL, "--token-file", str(token))
    assert said.code == 0 and "the present one" in said.out
    assert weft("context", "add", "south", "--at", "unix:///run/south.sock").code == 0
    assert here.stat().st_mode & 0o777 == 0o600 and "S3CRET" not in here.read_text()
    shown = {one["name"]: one["present"] for one in weft("context", "list", "-o", "json").json}
    assert shown == {"north": True, "south": False}
    assert weft("context", "use", "south").code == 0
    assert contexts.read().current == "south"
    assert weft("context", "remove", "south").code == 0
    assert contexts.read().current == "" and list(contexts.read().known) == ["north"]


def test_a_command_asks_the_contexts_controller(asked: Controller, weft: Weft, token: Path) -> None:
    weft("context", "add", "north", "--at", URL, "--token-file", str(token))
    weft("context", "add", "south", "--at", "http://south.test")
    assert weft("vcp", "list").code == 0
    assert (asked.last.url.host, asked.last.headers["Authorization"]) == ("north.test", "Bearer S3CRET")
    for words in (("vcp", "list", "--context", "south"), ("--context", "south", "vcp", "list")):
        assert weft(*words).code == 0
        assert asked.last.url.host == "south.test" and "Authorization" not in asked.last.headers


def test_what_is_nearer_to_the_command_is_stronger(
    asked: Controller, weft: Weft, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weft("context", "add", "north", "--at", URL, "--token-file", str(token))
    weft("context", "add", "south", "--at", "http://south.test")
    monkeypatch.setenv("WEFT_CONTEXT", "south")
    weft("vcp", "list")
    assert asked.last.url.host == "south.test"
    monkeypatch.setenv("WEFT_URL", "http://east.test")
    weft("vcp", "list")
    assert asked.last.url.host == "east.test" and "Authorization" not in asked.last.headers
    weft("vcp", "list", "--context", "north")
    assert asked.last.url.host == "north.test"
    weft("vcp", "list", "--url", "http://west.test")
    assert asked.last.url.host == "west.test"
    assert weft("vcp", "list", "--url", "http://west.test", "--context", "north").code == 2


def test_no_other_controllers_token_goes_to_a_context(
    asked: Controller, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_TOKEN", "OTHER")
    weft("context", "add", "south", "--at", "http://south.test")
    weft("vcp", "list")
    assert "Authorization" not in asked.last.headers


def test_a_contexts_root_is_trusted(weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root.pem"
    root.write_text("not a certificate")
    assert weft("context", "add", "north", "--at", URL, "--root-file", str(root)).code == 0
    result = weft("vcp", "list")
    assert result.code == 2 and str(root) in result.err


def test_wrong_contexts_are_named(weft: Weft, here: Path, token: Path) -> None:
    assert weft("context", "use", "none").code == 2
    result = weft("vcp", "list", "--context", "none")
    assert result.code == 2 and "there is no context 'none'" in result.err
    weft("context", "add", "north", "--at", URL, "--token-file", str(token))
    token.unlink()
    result = weft("vcp", "list")
    assert result.code == 2 and str(token) in result.err
    for text in ("", "[]", '{"current": 1}', json.dumps({"current": "x", "contexts": {"x": {"other": 1}}})):
        here.write_text(text)
        result = weft("context", "list")
        assert result.code == 2 and "delete it" in result.err


def test_names_complete(weft: Weft) -> None:
    from controller.cli.context import _names

    weft("context", "add", "north", "--at", URL)
    assert _names(None, "no") == ["north"]  # type: ignore[arg-type]
    assert destination().url == URL


def test_a_command_reads_the_contexts_once(
    asked: Controller, weft: Weft, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weft("context", "add", "north", "--at", URL, "--token-file", str(token))
    read, times = contexts.read, []

    def counting() -> contexts.Contexts:
        times.append(1)
        return read()

    monkeypatch.setattr(contexts, "read", counting)
    for line in (("vcp", "list"), ("vcp", "list", "--context", "north"), ("logout",)):
        times.clear()
        weft(*line)
        assert len(times) == 1, line
