"""How `weft` finds the controller, and its messages if the controller is absent or another program answers."""

import os
import socket
from pathlib import Path

import httpx
import pytest

from controller.cli import destination
from controller.cli.client import Client
from controller.cli.session import begin, session
from tests.unit.cli.conftest import LEFT_SOCKET, Controller, Weft


def test_the_places_in_their_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begin()
    monkeypatch.delenv("WEFT_URL", raising=False)
    lab, host = tmp_path / "lab.sock", tmp_path / "host.sock"
    monkeypatch.setattr(destination, "SOCKETS", (lab, host))
    assert destination.destination().url == "http://127.0.0.1:8080"
    host.touch()
    assert destination.destination().url == f"unix://{host}"
    lab.touch()
    assert destination.destination().url == f"unix://{lab}"
    monkeypatch.setenv("WEFT_URL", "http://other:1")
    assert destination.destination().url == "http://other:1"
    session.url = "https://third"
    assert destination.destination().url == "https://third"
    begin()


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_options_stand_before_or_after(controller: Controller, weft: Weft, place: str) -> None:
    controller.answers["GET", "/api/v1/vcps"] = {"items": [], "next": None}
    options = ["--url", "http://elsewhere.test", "--output", "json"]
    line = [*options, "vcp", "list"] if place == "before" else ["vcp", "list", *options]
    assert weft(*line).json == []
    assert controller.last.url.host == "elsewhere.test"


def test_lists_are_read_page_by_page(controller: Controller, weft: Weft) -> None:
    def pages(request: httpx.Request) -> httpx.Response:
        first = "cursor" not in request.url.params
        items = [{"name": "a"}] if first else [{"name": "b"}]
        return httpx.Response(200, json={"items": items, "next": "2" if first else None})

    controller.answers["GET", "/api/v1/vcps"] = pages
    assert weft("vcp", "list", "-o", "json").json == [{"name": "a"}, {"name": "b"}]
    with Client() as api:
        assert list(api.items("/api/v1/vcps", limit=1)) == [{"name": "a"}]
    assert controller.last.url.params["limit"] == "1"


def test_the_token_is_sent_and_its_lack_is_told(
    controller: Controller, weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller.answers["GET", "/api/v1/vcps"] = httpx.Response(401, json={"title": "Unauthorized"})
    result = weft("vcp", "list")
    assert result.code == 3 and "WEFT_TOKEN is not set" in result.err
    assert "Authorization" not in controller.last.headers
    monkeypatch.setenv("WEFT_TOKEN", "s3cret")
    result = weft("vcp", "list")
    assert controller.last.headers["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in result.err + result.out


def test_nobody_listens(weft: Weft) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = weft("vcp", "list", "--url", url)
    assert result.code == 4
    assert result.err.startswith(f"weft: no controller at {url}: ") and len(result.err.splitlines()) == 1


@pytest.mark.filterwarnings(LEFT_SOCKET)
@pytest.mark.usefixtures("collected")
def test_no_socket(weft: Weft, tmp_path: Path) -> None:
    result = weft("vcp", "list", "--url", f"unix://{tmp_path}/none.sock")
    assert result.code == 4 and "none.sock" in result.err


@pytest.mark.parametrize(
    "url", ["ftp://x", "controller:8080", "unix://run/x.sock", "http://[::1", "http://x:port", "unix:"]
)
def test_what_is_no_url_is_wrong_usage(weft: Weft, url: str) -> None:
    result = weft("vcp", "list", "--url", url)
    assert result.code == 2 and url in result.err


def test_it_did_not_answer_in_time(controller: Controller, weft: Weft) -> None:
    def late(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    controller.answers["GET", "/api/v1/vcps"] = late
    result = weft("vcp", "list")
    assert result.code == 4 and "did not answer in time" in result.err


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(500, text="boom"),
        httpx.Response(503, json={"title": "Starting", "detail": "migrations run"}),
        httpx.Response(502, json=[]),
    ],
)
def test_it_answers_but_not_as_it_should(controller: Controller, weft: Weft, answer: httpx.Response) -> None:
    controller.answers["GET", "/api/v1/vcps"] = answer
    result = weft("vcp", "list")
    assert result.code == 4 and result.out == ""


def test_a_unix_socket_is_spoken_to(tmp_path: Path, weft: Weft) -> None:
    """A real socket with one prepared answer to any request."""
    path = tmp_path / "c.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        child = os.fork()
        if child == 0:
            connection, _ = server.accept()
            connection.recv(65536)
            body = b'{"items": [{"name": "blue"}], "next": null}'
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            os._exit(0)
        result = weft("vcp", "list", "--url", f"unix://{path}")
        os.waitpid(child, 0)
    assert result.code == 0 and "blue" in result.out
