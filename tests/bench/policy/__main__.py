"""`make bench-policy`: how long `weft policy plan` takes in a large region, as its operator would notice it.

The controller is a real one, over SQLite and over PostgreSQL with its data on the disk, with a pair of real route
servers. There is no PE, so there are no routes. `large` makes the region and its policy, bare and lived in.

It measures the command from start to end, REST alone, and the application, in elapsed time and in CPU time. The CPU
time is that of the command and of the controller, without PostgreSQL's; it shows the cost on a machine with other work
to do.
"""

import argparse
import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from controller.core.intent import Intent
from lab.paths import BIN, ROOT
from tests.bench.policy.large import inhabited, policy
from tests.bench.policy.life import walk
from tests.bench.policy.page import table, written
from tests.postgres import Cluster
from tests.simulate.world import fill

LIMIT_MS = 1000.0

WEFT = "from controller.cli.main import main; main()"


@contextmanager
def process(command: list[str], log: Path, **environment: str) -> Iterator[int]:
    """Start a process and yield its id; the process is terminated when the block ends."""
    with log.open("wb") as output:
        running = subprocess.Popen(command, env={**os.environ, **environment}, stdout=output, stderr=output)
        try:
            yield running.pid
        finally:
            running.terminate()
            running.wait(20)


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def region(stack: ExitStack, directory: Path, url: str) -> tuple[str, int]:
    """Start two route servers and a controller; return the controller's URL and process id once they are in step."""
    (directory / "token").write_text("bench")
    servers: list[dict[str, str]] = []
    for name in ("rs1", "rs2"):
        control = f"127.0.0.1:{free_port()}"
        command = [str(BIN / "weft-routeserver"), "--name", name, "--router-id", "127.0.0.1", "--control", control]
        command += ["--listen", f"127.0.0.1:{free_port()}", "--token-file", str(directory / "token")]
        stack.enter_context(process([*command, "--state", str(directory / name)], directory / f"{name}.log"))
        servers.append({"name": name, "address": f"192.0.2.{len(servers) + 1}", "control": f"http://{control}"})
    settings = {
        "WEFT_DATABASE_URL": url,
        "WEFT_LISTEN": f"127.0.0.1:{free_port()}",
        "WEFT_SOCKET": str(directory / "c.sock"),
        "WEFT_ROUTE_SERVERS": json.dumps(servers),
        "WEFT_ROUTE_SERVER_TOKEN_FILE": str(directory / "token"),
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }
    controller = [sys.executable, "-m", "controller.main"]
    pid = stack.enter_context(process(controller, directory / "controller.log", **settings))
    with httpx.Client(transport=httpx.HTTPTransport(uds=settings["WEFT_SOCKET"]), base_url="http://c") as http:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if all(http.get("/readyz").json()["route_servers"].values()):
                    return f"unix://{settings['WEFT_SOCKET']}", pid
            except (httpx.HTTPError, ValueError):
                pass
            time.sleep(0.2)
    raise SystemExit(f"no controller: see {directory}/controller.log")


def timed(call: Callable[[], object], times: int) -> list[float]:
    """Return the milliseconds of each call."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        found.append((time.perf_counter() - started) * 1000)
    return found


def cpu_ms(pid: int) -> float:
    """Return the CPU time in ms that a process has used so far (proc(5): utime and stime)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def commands_ms() -> float:
    """Return the CPU time in ms of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def measure(name: str, options: argparse.Namespace, *, lived_in: bool) -> dict[str, Any]:
    """Return the figures, in ms, for the database of that name."""
    cloudlets, times = options.cloudlets, options.times
    with tempfile.TemporaryDirectory(prefix="weft-bench-policy-") as path, ExitStack() as stack:
        directory = Path(path)
        database = f"sqlite+aiosqlite:///{directory}/weft.db"
        if name == "postgresql":
            cluster = stack.enter_context(Cluster(durable=True))
            cluster.create("bench")
            database = cluster.url("bench")
        asyncio.run(fill(database, Intent(), inhabited(cloudlets), range(cloudlets if lived_in else 0)))
        if lived_in:
            asyncio.run(walk(database, cloudlets))
        url, pid = region(stack, directory, database)
        file = directory / "policy.yaml"
        text = policy(cloudlets, options.vcps, lived_in=lived_in)
        file.write_text(text)
        environment = {**os.environ, "WEFT_URL": url, "XDG_STATE_HOME": path, "PYTHONPATH": str(ROOT)}
        http = stack.enter_context(
            httpx.Client(transport=httpx.HTTPTransport(uds=f"{directory}/c.sock"), base_url="http://c", timeout=60)
        )

        def weft(*arguments: str) -> None:
            command = [sys.executable, "-c", WEFT, "policy", *arguments, str(file)]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

        def plan() -> Any:
            return http.post("/api/v1/policy/plan", content=text).raise_for_status().json()

        def series() -> dict[str, float]:
            before = cpu_ms(pid)
            rest = timed(plan, times)
            controller, before = (cpu_ms(pid) - before) / times, commands_ms()
            command = timed(lambda: weft("plan"), times)
            return {
                "rest_ms": round(statistics.median(rest), 1),
                "command_ms": round(statistics.median(command), 1),
                "controller_cpu_ms": round(controller, 1),
                "command_cpu_ms": round((commands_ms() - before) / times, 1),
            }

        foreseen, fresh = plan(), series()
        # The pools join LANs of nobody's: no agent confirms, which ends the command with 1 and is no failure here.
        applied = timed(lambda: http.post("/api/v1/policy/apply", content=text).raise_for_status(), 1)
        again = series()
        pools = http.get("/api/v1/vcps", params={"limit": 1000}).json()["items"]
    return {
        "database": name,
        "lived_in": lived_in,
        "cloudlets": cloudlets,
        "vcps": options.vcps,
        "pools": len(pools),
        "members": sum(len(pool["members"]) for pool in pools),
        "leases_hit": len(foreseen["leases"]),
        "tests": len(foreseen["tests"]),
        "bytes": len(text),
        "load": os.getloadavg()[0],
        "first": fresh,
        "apply_ms": round(applied[0], 1),
        "again": again,
    }


def main() -> None:
    """Parse the arguments, run the benchmark, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cloudlets", type=int, default=1000)
    parser.add_argument("--vcps", type=int, default=200)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--databases", nargs="+", choices=["sqlite", "postgresql"], default=["sqlite", "postgresql"])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--document", type=Path, help="the page whose table is written anew")
    options = parser.parse_args()
    if options.cloudlets < 100 or options.vcps < 20:
        parser.error("--cloudlets: at least 100; --vcps: at least 20")
    rows = [measure(name, options, lived_in=lived_in) for name in options.databases for lived_in in (False, True)]
    print(table(rows))
    if options.output:
        options.output.write_text(json.dumps(rows, indent=2) + "\n")
    if options.document:
        options.document.write_text(written(options.document.read_text(), rows))
    slow = max(row[when]["command_ms"] for row in rows for when in ("first", "again")) >= LIMIT_MS
    sys.exit(f"`weft policy plan` takes longer than {LIMIT_MS:.0f} ms" if slow else 0)


if __name__ == "__main__":
    main()
