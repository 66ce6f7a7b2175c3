"""After any failure, a command prints no traceback: it prints a message and exits with a code that the help names."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from controller.cli import client, destination, main
from tests.unit.cli.commands import COMMAND, COMMANDS, EXAMPLES
from tests.unit.cli.conftest import Controller, Weft, problem
from tests.unit.cli.test_main import weft_process

POLICY = (Path(__file__).parents[3] / "policies/examples/evpn.yaml").read_text()
INVENTORY = "apiVersion: weft/inventory/v1\n"
HOSTS = "address,name\n10.1.0.9,printer\n"
LOCAL = (["login"], ["logout"], ["image", "push"], ["inventory", "import"])
"""Commands that send no request to the controller."""

ASKING = [words for words in EXAMPLES if list(words[:1]) not in LOCAL and list(words[:2]) not in LOCAL]


def page(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, html="<title>a router</title>")


def away(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused")


def slow(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("")


def json(value: object) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(200, json=value)


EVENTS = "text/event-stream"
ANSWERS: dict[str, Callable[[httpx.Request], httpx.Response]] = {
    "away": away,
    "slow": slow,
    "a page": page,
    "a list": json([1]),
    "nothing": json(None),
    "an empty object": json({}),
    "items that are none": json({"items": 5}),
    "items of no form": json({"items": [1]}),
    "a redirection": lambda request: httpx.Response(302, headers={"Location": "https://login.test/"}),
    "a stranger": lambda request: problem(401, "Unauthorized", "no token"),
    "an error page": lambda request: httpx.Response(502, html="<title>Bad Gateway\x1b[2J</title>"),
    "a problem of no form": lambda request: httpx.Response(409, json={"errors": 5, "title": [], "detail": "\x1b[2J"}),
    "cut short": lambda request: httpx.Response(200, content=b'{"items": [', headers={"Content-Type": EVENTS}),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pools.yaml").write_text(POLICY)
    (tmp_path / "policies/examples").mkdir(parents=True)
    (tmp_path / "policies/examples/*.yaml").write_text(POLICY)
    (tmp_path / "printers.csv").write_text(HOSTS)
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    (tmp_path / "siem.secret").write_text("whsec_AAAA")
    (tmp_path / "siem-root.pem").write_text("a root")


def test_every_command_has_an_example() -> None:
    assert len(COMMANDS) > 80
    for one in COMMANDS:
        assert any(" ".join(words).startswith(one.name) for words in one.examples), one.name


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("answer", ANSWERS)
def test_no_answer_ends_in_a_traceback(
    monkeypatch: pytest.MonkeyPatch, controller: Controller, weft: Weft, tmp_path: Path, answer: str
) -> None:
    monkeypatch.setattr(client, "transport", lambda url, root_file: httpx.MockTransport(ANSWERS[answer]))
    monkeypatch.setattr(main, "app", COMMAND)
    for words in ASKING:
        for written in ("ana.token", "chat.secret", "report.tar.gz"):
            (tmp_path / written).unlink(missing_ok=True)
        monkeypatch.setattr("sys.stdin", io.StringIO(HOSTS))
        result = weft(*words)
        told = f"{answer}: weft {' '.join(words)}: {result}"
        assert result.code in (0, 1, 3, 4), told
        assert (result.code == 0) or result.err.startswith("weft: ") or "\nweft: " in result.err, told
        assert "\x1b" not in result.out + result.err, told
        if answer in ("away", "slow", "a page", "a list"):
            assert result.code == 4 or (words[0] in ("policy", "inventory", "context") and result.code == 0), told


@pytest.mark.parametrize(
    "url",
    [
        "",
        "controller",
        "ftp://c",
        "http://",
        "http://[::1",
        "http://c:port",
        "unix://",
        "unix://relative",
        "http://\x00",
    ],
)
def test_bad_urls_are_wrong_usage(monkeypatch: pytest.MonkeyPatch, weft: Weft, tmp_path: Path, url: str) -> None:
    monkeypatch.delenv("WEFT_URL", raising=False)
    monkeypatch.setattr(destination, "SOCKETS", (tmp_path / "none.sock",))  # this machine may have a controller
    monkeypatch.setattr(destination, "TCP", "http://127.0.0.1:1")
    result = weft("vcp", "list", "--url", url)
    assert result.code == (4 if not url else 2) and result.err.startswith("weft: ")


@pytest.mark.parametrize("token", ["tøken", "two words", "line\nbreak", "esc\x1b[2J"])
def test_a_bad_token_is_not_repeated(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, weft: Weft, tmp_path: Path, token: str
) -> None:
    monkeypatch.setenv("WEFT_TOKEN", token)
    result = weft("vcp", "list")
    assert result.code == 2 and result.err.startswith("weft: WEFT_TOKEN: ") and token not in result.err
    (tmp_path / "token").write_text(token, encoding="utf-8")
    monkeypatch.setenv("WEFT_TOKEN_FILE", str(tmp_path / "token"))
    result = weft("vcp", "list")
    assert result.code == 2 and "WEFT_TOKEN_FILE" in result.err and token not in result.err
    monkeypatch.delenv("WEFT_TOKEN_FILE")
    monkeypatch.setenv("WEFT_TOKEN", "good\n")
    controller.answers["GET", "/api/v1/vcps"] = {"items": [], "next": None}
    assert weft("vcp", "list").code == 0 and controller.last.headers["Authorization"] == "Bearer good"


@pytest.mark.parametrize(
    "line",
    [
        "cloudlet set c1 --at nan,nan",
        "cloudlet add c1 --vtep 192.0.2.1 --latitude inf",
        "move start web c2-lan --linger nan",
        "neighbour history c1 c2 --since 999999d",
        "neighbour history c1 c2 --since soon",
        "event list --limit 99999999999999999999",
        "vcp show \udcff",
        "vm set web --memory lots",
        "policy check missing.yaml",
        "policy check /",
        "address import c1-lan missing.csv",
        "token add ana --role viewer --to /nowhere/ana.token",
        "login --issuer http://[",
    ],
)
def test_bad_words_are_wrong_usage(controller: Controller, weft: Weft, line: str) -> None:
    result = weft(*line.split())
    assert result.code == 2, result
    assert "weft: " in result.err or "Error: " in result.err


def test_a_reader_that_goes_is_told_of_by_the_code_alone(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, weft: Weft
) -> None:
    class Gone:
        def writelines(self, lines: object) -> None:
            raise BrokenPipeError(32, "Broken pipe")

        def isatty(self) -> bool:
            return False

    from types import SimpleNamespace

    controller.answers["GET", "/api/v1/vcps"] = {"items": [{"name": "blue"}], "next": None}
    monkeypatch.setattr("controller.cli.terminal.sys", SimpleNamespace(stdout=Gone(), stderr=sys.stderr))
    before = sys.stdout, sys.stderr
    result = weft("vcp", "list")
    assert (result.code, result.out, result.err) == (141, "", "")
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize("words", [["--help"], ["policy", "check", "--offline", "policies/examples/evpn.yaml"]])
def test_a_full_disk_is_74(words: list[str]) -> None:
    code = "from controller.cli.start import main; main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 74 and done.stderr.startswith("weft: cannot read or write: No space left")
    assert len(done.stderr.splitlines()) == 1


def test_output_that_is_closed_is_no_defect() -> None:
    line = f"{sys.executable} -c 'from controller.cli.start import main; main()' --help >&- 2>&-"
    assert subprocess.run(line, shell=True, check=False).returncode == 0


def test_signs_that_the_locale_lacks_are_escaped() -> None:
    process = weft_process("policy", "test", "--offline", "policies/examples/evpn.yaml", PYTHONIOENCODING="ascii")
    out, err = process.communicate()
    assert "Traceback" not in err and "defect" not in err and out.isascii()


def test_ctrl_c_while_it_loads_is_quiet(tmp_path: Path) -> None:
    began = tmp_path / "began"
    code = (
        "import builtins, pathlib, time; real = builtins.__import__\n"
        "def slow(name, *rest, **more):\n"
        f"    if name == 'controller.cli.main': pathlib.Path({str(began)!r}).touch(); time.sleep(60)\n"
        "    return real(name, *rest, **more)\n"
        "from controller.cli.start import main\n"
        "builtins.__import__ = slow; main()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    while not began.exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate()[1] == "" and process.returncode == -signal.SIGINT
