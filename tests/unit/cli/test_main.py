"""`weft` as a whole: start, exit codes, completion."""

import os
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from controller.cli import vcps
from controller.cli.main import run
from tests.unit.cli.conftest import LEFT_SOCKET, Controller, Weft

NOUNS = ["cloudlet", "endpoint", "vcp", "device", "lease", "route", "policy", "event"]


def weft_process(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    code = "from controller.cli.main import main; main()"
    env = {**os.environ, **environment}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


def test_every_command_has_help_with_an_example(weft: Weft) -> None:
    top = weft("--help")
    assert top.code == 0 and "Exit codes" in top.out
    assert all(f"\n  {noun} " in top.out for noun in [*NOUNS, "doctor"])
    seen = 0
    for noun in NOUNS:
        listing = weft(noun, "--help").out.split("Commands:\n")[1]
        for line in listing.splitlines():
            if line.startswith("  ") and line[2] != " ":
                text = weft(noun, line.split()[0], "--help").out
                assert f"Examples:\n    weft {noun} {line.split()[0]}" in text
                assert "--url" in text and "--output" in text
                seen += 1
    assert seen >= 35


def test_starting_loads_no_more_than_it_needs() -> None:
    code = (
        "import sys; from controller.cli.main import run; run(['--help']); "
        "sys.exit(' '.join({'tenacity', 'jsonschema', 'pydantic', 'fastapi', 'sqlalchemy', 'lab'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "\n" and "Usage: weft" in done.stdout


@pytest.mark.parametrize("line", ["", "vcp", "vcp join blue", "vcp list --output xml", "nothing", "lease list --what"])
def test_wrong_usage_is_2(weft: Weft, line: str) -> None:
    result = weft(*line.split())
    assert result.code == 2
    assert "Usage: weft" in result.err + result.out


def test_a_defect_ends_in_one_line(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise KeyError("oops\nmore")

    monkeypatch.setattr(vcps, "Client", broken)
    monkeypatch.delenv("WEFT_DEBUG", raising=False)
    result = weft("vcp", "list")
    assert result.code == 70 and len(result.err.splitlines()) == 1 and "WEFT_DEBUG" in result.err
    monkeypatch.setenv("WEFT_DEBUG", "1")
    with pytest.raises(KeyError):
        run(["vcp", "list"])


def test_ctrl_c_is_quiet(controller: Controller, weft: Weft) -> None:
    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    controller.answers["GET", "/api/v1/vcps"] = interrupted
    result = weft("vcp", "list")
    assert (result.code, result.out, result.err) == (130, "", "")


@pytest.mark.parametrize("arguments", [["--help"], ["policy", "check", "--offline", "policies/examples/evpn.yaml"]])
def test_a_broken_pipe_is_quiet(arguments: list[str]) -> None:
    process = weft_process(*arguments)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 141


def test_events_are_followed(controller: Controller, weft: Weft) -> None:
    def stream() -> Iterator[bytes]:
        yield b'id: 4\nevent: joined\ndata: {"id": 4, "type": "joined", "text": "c5-lan\\u001b[31m joined"}\n\n'
        yield b": still here\n\n"
        yield b'id: 5\ndata: {"id": 5, "type": "left", "text": "blue"}\n\n'

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=stream(), headers={"Content-Type": "text/event-stream"})

    controller.answers["GET", "/api/v1/events"] = answer
    result = weft("event", "follow", "--after", "3")
    assert controller.last.headers["Last-Event-ID"] == "3"
    assert [line.split()[:2] for line in result.out.splitlines()] == [["4", "joined"], ["5", "left"]]
    assert "\x1b" not in result.out and "blue" in result.out
    lines = weft("event", "follow", "-o", "json").out.splitlines()
    assert len(lines) == 2 and lines[1] == '{"id": 5, "type": "left", "text": "blue"}'


def test_names_are_completed(controller: Controller, monkeypatch: pytest.MonkeyPatch, weft: Weft) -> None:
    items = [{"name": name} for name in ("blue", "black", "red")]
    controller.answers["GET", "/api/v1/vcps"] = {"items": items, "next": None}
    for shell, words in (("bash", "weft vcp join bl"), ("zsh", "weft vcp join bl"), ("fish", "weft vcp join bl")):
        monkeypatch.setenv("_WEFT_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", "3")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        out = weft().out
        assert "blue" in out and "black" in out and "red" not in out


@pytest.mark.filterwarnings(LEFT_SOCKET)
@pytest.mark.usefixtures("collected")
def test_completion_without_a_controller_is_empty_and_quiet(monkeypatch: pytest.MonkeyPatch, weft: Weft) -> None:
    monkeypatch.setenv("WEFT_URL", "unix:///nonexistent.sock")
    monkeypatch.setenv("_WEFT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "weft vcp join bl")
    monkeypatch.setenv("COMP_CWORD", "3")
    result = weft()
    assert (result.out.strip(), result.err) == ("", "")
