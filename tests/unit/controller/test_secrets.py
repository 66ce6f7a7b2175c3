"""A secret is shown once, to its owner, and nowhere else: not in logs, process lists, answers of the API, `weft`'s
output, the audit log or the database."""

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from controller.server.app import create_app
from controller.settings import Settings

ADMIN, ROUTE_SERVERS = "the-secret-of-administrators", "the-secret-of-route-servers"
WRONG = "a-token-that-was-once-good"
CLI = "from controller.cli.main import main; main()"
ROOT = Path(__file__).parents[3]


@dataclass
class Running:
    """A controller in a process of its own with the most verbose log, and the secrets that it has given out."""

    folder: Path
    process: "subprocess.Popen[bytes]"
    http: httpx.Client
    secrets: dict[str, str]

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def post(self, path: str, body: dict[str, Any], secret: str = ADMIN) -> Any:
        answer = self.http.post(f"/api/v1{path}", json=body, headers={"Authorization": f"Bearer {secret}"})
        return answer.json() if answer.content else None

    def weft(self, *arguments: str) -> str:
        """Run `weft`; return its standard output and standard error."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
        environment |= {"WEFT_URL": f"unix://{self.folder}/socket"}
        done = subprocess.run(
            [sys.executable, "-c", CLI, *arguments],
            env=environment, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
        )  # fmt: skip
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("secrets")) as made:
        _work(made)
        yield made


@contextmanager
def serving(folder: Path, **more: str) -> Iterator[Running]:
    for name, secret in (("admin", ADMIN), ("servers", ROUTE_SERVERS)):
        (folder / name).write_text(secret)
    servers = [{"name": "rs1", "address": "192.0.2.200", "control": "http://127.0.0.1:9"}]
    environment = os.environ | {
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{folder}/weft.db",
        "WEFT_LISTEN": "127.0.0.1:0",
        "WEFT_SOCKET": str(folder / "socket"),
        "WEFT_ADMIN_TOKEN_FILE": str(folder / "admin"),
        "WEFT_ROUTE_SERVER_TOKEN_FILE": str(folder / "servers"),
        "WEFT_ROUTE_SERVERS": json.dumps(servers),
        "WEFT_AGENT_TIMEOUT": "0.2",
        **more,
    }
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "controller.main", "--verbose"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)
    try:
        until = time.monotonic() + 90
        while "listening on" not in (folder / "log").read_text():
            assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.1)
        line = next(line for line in (folder / "log").read_text().splitlines() if "listening on" in line)
        port = line.split(" and ")[0].rpartition(":")[2]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as http:
            yield Running(folder, process, http, {"admin": ADMIN, "route servers": ROUTE_SERVERS, "wrong": WRONG})
    finally:
        process.terminate()
        process.wait(20)


def _work(running: Running) -> None:
    """Create, use and misuse secrets of every kind."""
    given = running.secrets
    given["enrolment"] = running.post("/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})["token"]
    given["unused"] = running.post("/cloudlets", {"name": "c2", "pe": "vpls", "vtep": "192.0.2.2"})["token"]
    enrolment = {"token": given["enrolment"], "cloudlet": "c1", "agent_version": "1"}
    given["credential"] = running.post("/enrolments", enrolment)["credential"]
    given["token"] = running.post("/tokens", {"name": "t1", "role": "operator", "seconds": 600})["token"]
    running.post("/enrolments", enrolment)
    running.post("/enrolments", enrolment | {"token": WRONG})
    for secret in given.values():
        running.post("/vcps", {"name": "blue", "token": secret, "password": secret}, secret)
        running.post("/agent/reports", {"credential": secret}, secret)
        running.http.get(f"/api/v1/vcps/{secret}", headers={"Authorization": f"Bearer {secret}"})
        running.http.post("/api/v1/vcps", content=f'{{"token": "{secret}"', headers={"Authorization": secret})


def seen(running: Running, text: str) -> set[str]:
    """Return the names of the secrets that appear in a text."""
    return {name for name, secret in running.secrets.items() if secret in text}


def test_the_log_has_none(running: Running) -> None:
    assert running.log and not seen(running, running.log)


def test_a_log_of_objects_has_none_either(tmp_path: Path) -> None:
    """Each line of the whole log is an object, from the start to the end of the program."""
    with serving(tmp_path, WEFT_LOG_FORMAT="json", WEFT_REPLICA="north") as running:
        _work(running)
        wrong = running.http.post("/api/v1/vcps", json={"name": "x"}, headers={"Authorization": f"Bearer {WRONG}"})
    log = running.log
    assert not seen(running, log)
    lines = [json.loads(line) for line in log.splitlines()]
    assert all({"time", "level", "logger", "message", "replica"} <= line.keys() for line in lines)
    assert {line["replica"] for line in lines} == {"north"} and len(wrong.headers["X-Request-Id"]) == 16
    assert any(line["message"].startswith("listening on 127.0.0.1:") for line in lines)


def test_a_list_of_processes_has_none(running: Running) -> None:
    for file in ("cmdline", "environ"):
        assert not seen(running, Path(f"/proc/{running.process.pid}/{file}").read_text())


def test_answers_have_none(running: Running) -> None:
    """The test calls every reading operation of the API's description that needs no name, and those about the created
    objects."""
    paths = [path for path, found in create_app(Settings()).openapi()["paths"].items() if "get" in found]
    wanted = [path for path in paths if "{" not in path and "agent" not in path]
    wanted += ["/api/v1/cloudlets/c1", "/api/v1/cloudlets/c2", "/api/v1/tokens/t1"]
    assert len(wanted) > 25
    for path in wanted:
        with running.http.stream("GET", path, headers={"Authorization": f"Bearer {ADMIN}"}) as answer:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                continue
            assert not seen(running, answer.read().decode()), path


@pytest.mark.parametrize("noun", ["token", "cloudlet", "audit", "event"])
def test_weft_prints_none(running: Running, noun: str) -> None:
    listed = running.weft("--output", "json", noun, "list")
    json.loads(listed)
    assert not seen(running, listed)


def test_weft_gives_a_new_secret_to_a_file_of_the_caller_s_alone(running: Running) -> None:
    to = running.folder / "new.token"
    printed = running.weft("--output", "json", "token", "add", "t2", "--role", "viewer", "--to", str(to))
    secret = to.read_text().strip()
    assert len(secret) > 30 and secret not in printed + running.log
    assert stat.S_IMODE(to.stat().st_mode) == 0o600


def test_the_database_has_digests(running: Running) -> None:
    kept = b"".join(path.read_bytes() for path in running.folder.glob("weft.db*")).decode("latin-1")
    assert "c1" in kept and not seen(running, kept)
