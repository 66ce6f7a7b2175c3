"""A real Prometheus with the sample configuration scrapes a controller's and a route server's exposition, evaluates the
rules, and answers every query of the dashboards."""

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from lab.patience import until
from tests.unit.monitoring import exposition
from tests.unit.monitoring.files import RULES, SCRAPES, queries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="lab/provision installs Debian's package prometheus"),
]

TOKEN = "a-token-for-metrics"
TEXTS = {
    "weft-controller": exposition.controller,
    "weft-routeserver": exposition.route_server,
    "weft-cloudlet": exposition.agent,
}
"""The expositions by job."""


class Exposing(BaseHTTPRequestHandler):
    """Serves each job's exposition at /JOB; the route server's takes the token."""

    def do_GET(self) -> None:
        job = self.path.removeprefix("/").partition("?")[0]
        allowed = job != "weft-routeserver" or self.headers["Authorization"] == f"Bearer {TOKEN}"
        text = TEXTS[job]().encode() if allowed else b""
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def exposing() -> Iterator[str]:
    """Yield the address and port of a server of the expositions."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Exposing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def configuration(folder: Path, target: str) -> Path:
    """Write the sample configuration with one target for each job, and scrapes every half second."""
    found = yaml.safe_load(SCRAPES.read_text())
    found["global"] = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}
    found["rule_files"] = [str(RULES)]
    for scrape in found["scrape_configs"]:
        scrape["metrics_path"] = f"/{scrape['job_name']}"
        scrape["static_configs"] = [scrape["static_configs"][0] | {"targets": [target]}]
    (folder / "metrics-token").write_text(TOKEN)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(found))
    return folder / "prometheus.yml"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a Prometheus that has evaluated the rules."""
    folder = tmp_path_factory.mktemp("prometheus")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with exposing() as target, (folder / "log").open("w") as log:
        command = [
            *("prometheus", "--log.level=warn", f"--config.file={configuration(folder, target)}"),
            *(f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"),
        ]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            with httpx.Client(base_url=f"http://{address}", trust_env=False) as client:
                until(lambda: evaluated(client), lambda: (folder / "log").read_text(), seconds=60)
                yield client
        finally:
            process.terminate()
            process.wait(30)


def evaluated(client: httpx.Client) -> bool:
    """Return whether each rule was evaluated since all jobs have had two scrapes."""
    try:
        times = answer(client, "min(count_over_time(up[1m]))")
    except (httpx.TransportError, AssertionError):
        return False
    found = [rule for group in client.get("/api/v1/rules").json()["data"]["groups"] for rule in group["rules"]]
    return bool(times) and float(times[0]["value"][1]) > 4 and all(rule["health"] != "unknown" for rule in found)


def answer(client: httpx.Client, expression: str) -> list[dict[str, Any]]:
    """Return the series that answer an expression."""
    found = client.get("/api/v1/query", params={"query": expression})
    assert found.status_code == 200, found.text
    series: list[dict[str, Any]] = found.json()["data"]["result"]
    return series


def test_targets_are_scraped_and_rules_evaluated(prometheus: httpx.Client) -> None:
    assert {one["metric"]["job"]: one["value"][1] for one in answer(prometheus, "up")} == dict.fromkeys(TEXTS, "1")
    groups = prometheus.get("/api/v1/rules").json()["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}, groups


def test_every_query_of_the_dashboards_has_an_answer_with_the_labels_of_its_legend(prometheus: httpx.Client) -> None:
    for query in queries():
        until(partial(answer, prometheus, query.now), query.where)
        for one in answer(prometheus, query.now):
            assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= one["metric"].keys(), query.where
