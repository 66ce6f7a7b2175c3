"""A controller in a process of its own, on SQLite and without route servers. OpenTofu and `weft` call it over its unix
socket."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import httpx

from lab.paths import ROOT
from lab.patience import until

COLLECTIONS = ("cloudlets", "endpoints", "devices", "vms", "vcps")


class Controller:
    """A running controller. `url` is that of its socket, `tcp` the one where callers need a token."""

    def __init__(self, socket: Path, tcp: str) -> None:
        self.url, self.tcp = f"unix://{socket}", tcp
        self.http = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://controller", timeout=30
        )

    def get(self, path: str) -> Any:
        answer = self.http.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def names(self, collection: str) -> list[str]:
        return [one["name"] for one in self.get(f"/{collection}")["items"]]

    def weft(self, *words: str) -> None:
        """Run `weft` as an operator does beside Terraform."""
        command = [sys.executable, "-c", "from controller.cli.start import main; main()", "--url", self.url, *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr

    def empty(self) -> bool:
        """Return whether the region has nothing."""
        return not any(self.names(collection) for collection in COLLECTIONS)


@contextmanager
def running(folder: Path) -> Iterator[Controller]:
    """Run a controller whose files are in `folder`."""
    socket, token = folder / "controller.sock", folder / "admin-token"
    token.write_text("an-admin-token-for-tests\n")
    token.chmod(0o600)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    environment = clean | {
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{folder}/weft.db",
        "WEFT_LISTEN": "127.0.0.1:0",
        "WEFT_SOCKET": str(socket),
        "WEFT_ADMIN_TOKEN_FILE": str(token),
    }
    command = [sys.executable, "-m", "controller.main"]
    with (folder / "controller.log").open("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            until(lambda: "listening on" in _said(log), lambda: _said(log))
            [tcp] = re.findall(r"127\.0\.0\.1:\d+", _said(log))[:1]
            controller = Controller(socket, f"http://{tcp}")
            with controller.http:
                until(lambda: controller.http.get("/readyz").status_code == 200, lambda: _said(log))
                yield controller
        finally:
            process.terminate()
            process.wait(30)


def _said(log: TextIO) -> str:
    return Path(log.name).read_text()
