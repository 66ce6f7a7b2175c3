"""A controller with prepared answers, and `weft` as a shell calls it."""

import gc
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from tenacity import nap

from controller.cli import client
from controller.cli.main import run

LEFT_SOCKET = "ignore::pytest.PytestUnraisableExceptionWarning"
"""httpcore leaves a unix socket that it could not connect to the garbage collector, which complains."""


@pytest.fixture
def collected() -> Iterator[None]:
    """Collect the garbage of a test in its own time: Python 3.13 would do it in another test's."""
    yield
    gc.collect()


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Controller:
    """A controller with answers by (method, path) that records its requests. An answer is JSON, or a whole response."""

    answers: dict[tuple[str, str], object] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.get((request.method, request.url.path))
        if isinstance(answer, httpx.Response):
            return answer
        if callable(answer):
            return answer(request)  # type: ignore[no-any-return]
        if answer is None:
            return problem(404, "Not found", f"nothing at {request.url.path}")
        return httpx.Response(200, json=answer)

    @property
    def last(self) -> httpx.Request:
        return self.asked[-1]

    @property
    def body(self) -> Any:
        return json.loads(self.last.content)


def problem(status: int, title: str, detail: str, *errors: dict[str, Any]) -> httpx.Response:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "errors": list(errors)}
    return httpx.Response(status, json=body, headers={"Content-Type": "application/problem+json"})


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which weft records the version that a policy file is based on. The terminal's width does not affect
    the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "weft" / "policies.json"


Slept = list[float]


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    """Record the seconds of each wait before a request is sent again, without waiting."""
    seconds: Slept = []
    monkeypatch.setattr(nap, "time", SimpleNamespace(sleep=seconds.append))
    return seconds


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> Controller:
    made = Controller()
    monkeypatch.setattr(client, "transport", lambda url, root_file: httpx.MockTransport(made))
    monkeypatch.setenv("WEFT_URL", "http://controller.test")
    monkeypatch.delenv("WEFT_TOKEN", raising=False)
    return made


@pytest.fixture
def weft(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    def call(*arguments: str) -> Result:
        code = run(arguments)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Result(code, out, err)

    return call


Weft = Callable[..., Result]


class Terminal(io.StringIO):
    """A terminal of 80 columns that shows colours, and the text that it received."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """The readable text, by line."""
        return re.sub("\x1b\\[[0-9;]*m", "", self.getvalue()).splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    made = Terminal()
    monkeypatch.setattr("controller.cli.terminal.sys", SimpleNamespace(stdout=made, stderr=sys.stderr))
    return made
