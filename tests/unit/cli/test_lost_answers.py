"""A controller does the work and its answer is lost: the work is done once, and the user hears of it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.answers import CLOUDLET
from tests.unit.cli.conftest import Controller, Slept, Weft, problem

KEY = "Idempotency-Key"


class Forgetful:
    """Does each request once by its key, and loses the first answers: it raises an error, or answers 503. Secrets are
    told once (controller/api/middleware/idempotency.py)."""

    def __init__(self, answer: dict[str, object], *losses: type[httpx.TransportError] | httpx.Response) -> None:
        self.answer, self.losses = answer, list(losses)
        self.done: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        key = request.headers[KEY]
        again = key in self.done
        if not again:
            self.done.append(key)
        if self.losses:
            loss = self.losses.pop(0)
            if isinstance(loss, httpx.Response):
                return loss
            raise loss("gone", request=request)
        if not again:
            return httpx.Response(201, json=self.answer)
        told = {k: None if k in ("token", "keys") else v for k, v in self.answer.items()}
        return httpx.Response(201, json=told, headers={"Idempotency-Replayed": "true"})


@pytest.mark.parametrize(
    "loss",
    [
        httpx.ReadError,
        httpx.RemoteProtocolError,
        httpx.ReadTimeout,
        httpx.Response(503, json={}, headers={"Retry-After": "1"}),
    ],
)
def test_it_is_done_once(controller: Controller, weft: Weft, loss: type[httpx.TransportError] | httpx.Response) -> None:
    controller.answers["POST", "/api/v1/vcps"] = stub = Forgetful({"name": "blue"}, loss)
    result = weft("vcp", "add", "blue")
    assert result.code == 0 and len(stub.done) == 1 and len(controller.asked) == 2
    assert result.err.startswith("weft: the controller") and len(result.err.splitlines()) == 1
    assert weft("vcp", "add", "blue").code == 0 and len(stub.done) == 2, "another command is another change"


def test_every_change_has_a_key_and_no_question_has(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/vcps"] = {"items": [], "next": None}
    controller.answers["DELETE", "/api/v1/tokens/ana"] = {}
    controller.answers["PATCH", "/api/v1/cloudlets/c1"] = {}
    for line in ("vcp list", "vcp leave blue e --dry-run", "policy check policies/examples/evpn.yaml"):
        weft(*line.split())
        assert KEY not in controller.last.headers, line
    for line in ("token revoke ana", "cloudlet set c1 --label a=b"):
        weft(*line.split())
        assert controller.last.headers[KEY], line
    keys = [request.headers.get(KEY) for request in controller.asked if KEY in request.headers]
    assert len(set(keys)) == len(keys)


def test_a_lost_secret_is_named_with_the_way_to_another(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    told: dict[str, object] = {**CLOUDLET, "token": "S3CRET", "token_expires_at": None}
    unmanaged: dict[str, object] = {"keys": {"rs1": "S3CRET"}}
    controller.answers["GET", "/api/v1/cloudlets/c1"] = CLOUDLET | {"unmanaged": True}
    file = tmp_path / "secret"
    for line, url, answer, remedy in (
        (f"token add ana --role viewer --to {file}", "tokens", told, "`weft token revoke ana`"),
        ("token add ana --role viewer", "tokens", told, "with another name"),
        (f"cloudlet add c1 --vtep 192.0.2.1 --to {file}", "cloudlets", told, "`weft cloudlet token c1`"),
        ("cloudlet token c1 -o json", "cloudlets/c1/token", told, "`weft cloudlet token c1`"),
        ("cloudlet rekey c1", "cloudlets/c1/session-keys", unmanaged, "`weft cloudlet rekey c1`"),
    ):
        controller.answers["POST", f"/api/v1/{url}"] = Forgetful(answer, httpx.ReadError)
        result = weft(*line.split())
        assert result.code == 1 and result.out == "" and not file.exists(), line
        assert "the secret was lost" in result.err and remedy in result.err, line
        controller.answers["POST", f"/api/v1/{url}"] = Forgetful(answer)
        assert weft(*line.split()).code == 0, line
        file.unlink(missing_ok=True)


def test_a_managed_cloudlet_has_no_keys_to_lose(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/cloudlets/c1"] = CLOUDLET | {"unmanaged": False}
    controller.answers["POST", "/api/v1/cloudlets/c1/session-keys"] = Forgetful({"keys": None}, httpx.ReadError)
    result = weft("cloudlet", "rekey", "c1")
    assert result.code == 0 and "on its way" in result.out


def test_a_user_hears_that_a_change_may_have_been_made(controller: Controller, weft: Weft, slept: Slept) -> None:
    controller.answers["POST", "/api/v1/vcps"] = Forgetful({}, *[httpx.ReadTimeout] * 9)
    result = weft("vcp", "add", "blue")
    assert result.code == 4 and "did not answer in time" in result.err and "may have been made" in result.err
    assert len(slept) == 3
    refusal = problem(409, "Conflict", "there is a VCP 'blue'")
    controller.answers["POST", "/api/v1/vcps"] = Forgetful({}, httpx.ReadError, refusal)
    result = weft("vcp", "add", "blue")
    assert result.code == 3 and "may have been made" in result.err
    controller.answers["POST", "/api/v1/vcps"] = refusal
    assert "may have been made" not in weft("vcp", "add", "blue").err


@contextmanager
def listening() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the URL of a server that reads a whole request, closes the connection the first time and answers the second
    time, and the keys that it was sent."""
    keys: list[bytes] = []

    def serve(server: socket.socket) -> None:
        for number in range(2):
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as file:
                lines = list(iter(file.readline, b"\r\n"))
                head = dict(line.rstrip().lower().split(b": ", 1) for line in lines[1:])
                file.read(int(head[b"content-length"]))
                keys.append(head[KEY.lower().encode()])
                if number:
                    body = json.dumps({"name": "blue"}).encode()
                    connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", keys
        thread.join()


def test_a_connection_that_ends_is_a_lost_answer(weft: Weft) -> None:
    with listening() as (url, keys):
        result = weft("vcp", "add", "blue", "--url", url)
    assert result.code == 0 and len(keys) == 2 and keys[0] == keys[1]
    assert "the controller's answer was lost" in result.err
