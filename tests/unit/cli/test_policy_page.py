"""`docs/reports/policy-tour.md` shows the real output of `weft`: the test runs the page's commands from top to bottom,
against a controller in a process of its own. `python -m tests.unit.cli.test_policy_page` writes the outputs into the
page."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "reports" / "policy-tour.md"
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```\n", re.M | re.S)
WEFT = "from controller.cli.main import main; main()"
TOKEN = "the-operators-token"
VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"), "…"),
    (re.compile(r"\b[\d.,]+ m?s\b"), "… ms"),
    (re.compile(r"\bgeneration \d+"), "generation …"),
    (re.compile(r" +$", re.M), ""),
)


@contextmanager
def region(directory: Path) -> Iterator[str]:
    """Start a controller without route servers, with four cloudlets, a device whose VM is elsewhere, and `pools.yaml`;
    yield its URL."""
    (directory / "token").write_text(TOKEN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{directory}/weft.db",
        "WEFT_LISTEN": f"127.0.0.1:{port}",
        "WEFT_ADMIN_TOKEN_FILE": str(directory / "token"),
        "WEFT_AGENT_TIMEOUT": "0.2",
    }
    command = [sys.executable, "-m", "controller.main"]
    with subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and "listening" in process.stdout.readline()
            _inhabit(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _inhabit(url: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    credentials = {}
    with httpx.Client(base_url=f"{url}/api/v1", headers=headers, trust_env=False, timeout=20) as http:

        def post(path: str, body: dict[str, object], credential: str | None = None) -> dict[str, str]:
            more = {"Authorization": f"Bearer {credential}"} if credential else {}
            answer = http.post(path, json=body, headers=more)
            assert answer.is_success, answer.text
            return dict(answer.json())

        for n in range(1, 5):
            labels = {"city": "milan" if n == 4 else "turin"}
            made = post("/cloudlets", {"name": f"c{n}", "pe": "vpls", "vtep": f"198.51.100.{n}", "labels": labels})
            post("/endpoints", {"name": f"c{n}-lan", "cloudlet": f"c{n}", "prefix": f"10.{n}.0.0/24"})
            enrolment: dict[str, object] = {"token": made["token"], "cloudlet": f"c{n}", "agent_version": "1"}
            credentials[n] = post("/enrolments", enrolment)["credential"]
        mac, vm = "02:00:5e:00:00:01", "02:00:5e:00:00:02"
        post("/devices", {"name": "m1", "mac": mac, "vm": {"mac": vm}})
        post("/agent/leases", {"endpoint": "c1-lan", "mac": mac}, credentials[1])
        post("/agent/leases", {"endpoint": "c3-lan", "mac": vm}, credentials[3])


def played(page: str, directory: Path, url: str) -> str:
    """Return the page with the present output of its commands."""
    environment = os.environ | {
        "WEFT_URL": url,
        "WEFT_TOKEN": TOKEN,
        "XDG_STATE_HOME": str(directory),
        "COLUMNS": "120",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }

    def weft(*arguments: str) -> str:
        command = [sys.executable, "-u", "-c", WEFT, *arguments]
        done = subprocess.run(
            command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        text = done.stdout
        for pattern, instead in VARIES:
            text = pattern.sub(instead, text)
        return text

    def play(block: re.Match[str]) -> str:
        kind, text = block.groups()
        if kind == "yaml":
            file = re.match(r"# (\S+\.yaml)\n", text)
            assert file, f"a file without a name:\n{text}"
            (directory / file[1]).write_text(text)
            if file[1] == "pools.yaml":
                weft("policy", "apply", file[1])
            return block[0]
        commands = [line for line in text.splitlines() if line.startswith("$ weft ")]
        outputs = [f"{line}\n{weft(*line.split()[2:])}" for line in commands]
        return f"```console\n{''.join(outputs)}```\n"

    return BLOCK.sub(play, page)


def test_the_page_says_what_weft_prints(tmp_path: Path) -> None:
    page = PAGE.read_text()
    with region(tmp_path) as url:
        now = played(page, tmp_path, url)
    assert now.splitlines() == page.splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as path, region(Path(path)) as served:
        PAGE.write_text(played(PAGE.read_text(), Path(path), served))
