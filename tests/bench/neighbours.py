"""The cost of reports on neighbours for one controller: real HTTP, real databases, simulated agents.

Each agent keeps its stream open and reports its neighbours once a minute over a connection of its own, as real agents
do. The CPU time is that of the controller's process (/proc/PID/stat); the database server is counted separately.

    python -m tests.bench.neighbours --agents 1000 --neighbours 20 --seconds 120
"""

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from controller.agents import neighbour_history
from controller.core.neighbour_history import HOUR, ROUND, Summary, start
from controller.core.neighbour_reports import Reporter
from controller.db import neighbour_history as history_table
from controller.db import reporters
from controller.db.engine import Database
from tests.bench.region import Controller, controller, cpu, credential, fill, name, percentile, servers_cpu
from tests.postgres import Cluster

TARGET = 0.10
"""Share of one core, for 1,000 agents with 20 neighbours."""

SETTLED = 30.0
"""Seconds after which a controller has finished the work of its start, such as counting all LANs' addresses."""

APART, ACROSS = 0.05, 40
"""Degrees between two places, and places in a row. No cloudlet is near another, so that the reports alone are
measured."""


class Agents:
    """Simulated agents. `took` has the seconds of each report, `failed` the reports that were not answered with 204."""

    def __init__(self, url: str, agents: int, neighbours: int, interval: float) -> None:
        self.url, self.agents, self.neighbours, self.interval = url, agents, neighbours, interval
        self.took: list[float] = []
        self.failed: list[str] = []
        self.documents = 0
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self.http = httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, limits=limits)

    async def follow(self, number: int) -> None:
        """Keep a stream open, as an agent does."""
        headers = {"Authorization": f"Bearer {credential(number)}"}
        async with self.http.stream("GET", "/api/v1/agent/desired", headers=headers, timeout=None) as stream:
            async for _ in stream.aiter_raw():
                self.documents += 1

    async def report(self, number: int, until: float) -> None:
        """Send reports, each at the agent's own time within the interval."""
        headers = {"Authorization": f"Bearer {credential(number)}", "Content-Type": "application/json"}
        count, base = 0, random.uniform(3, 80)
        await asyncio.sleep(random.uniform(0, self.interval))
        while time.monotonic() < until:
            body = json.dumps(
                {
                    "cloudlet": name(number),
                    "run": "bench",
                    "dropped": 0,
                    "measurements": [self.measured(number, count + i, i, base) for i in range(self.neighbours)],
                }
            )
            count += self.neighbours
            started = time.monotonic()
            try:
                answer = await self.http.post("/api/v1/agent/neighbours", content=body, headers=headers)
                if answer.status_code == 204:
                    self.took.append(time.monotonic() - started)
                else:
                    self.failed.append(f"{answer.status_code} {answer.text[:200]}")
            except httpx.HTTPError as error:
                self.failed.append(repr(error))
            await asyncio.sleep(max(0.0, self.interval * random.uniform(0.9, 1.1)))

    def measured(self, number: int, count: int, index: int, base: float) -> dict[str, Any]:
        median = round(base + random.uniform(0, 5), 3)
        return {
            "number": count,
            "neighbour": name((number + 1 + index) % self.agents),
            "age": round(random.uniform(0, self.interval), 3),
            "method": "icmp",
            "sent": 5,
            "received": 5,
            "min_ms": round(median * 0.9, 3),
            "median_ms": median,
            "p95_ms": round(median * 1.2, 3),
            "jitter_ms": 0.4,
        }


async def load(server: Controller, pids: list[int], options: argparse.Namespace, interval: float) -> dict[str, Any]:
    """Open the streams, measure their cost alone, and then measure the reports."""
    agents = Agents(server.url, options.agents, options.neighbours, interval)
    tasks = [asyncio.create_task(agents.follow(n)) for n in range(options.agents)]
    async with asyncio.timeout(120):
        while agents.documents < options.agents:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    await asyncio.sleep(SETTLED)
    idle_from, idle_cpu = time.monotonic(), server.seconds
    await asyncio.sleep(options.idle)
    idle = (server.seconds - idle_cpu) / (time.monotonic() - idle_from)
    until = time.monotonic() + interval + options.seconds
    reporting = [asyncio.create_task(agents.report(n, until)) for n in range(options.agents)]
    await asyncio.sleep(interval)  # by then all have begun
    agents.took.clear()
    began, used, database = time.monotonic(), server.seconds, servers_cpu(pids)
    await asyncio.sleep(options.seconds)
    elapsed, reports = time.monotonic() - began, len(agents.took)
    used, database = server.seconds - used, servers_cpu(pids) - database
    for task in (*tasks, *reporting):
        task.cancel()
    await asyncio.gather(*tasks, *reporting, return_exceptions=True)
    await agents.http.aclose()
    return {
        "interval_s": interval,
        "reports_per_s": reports / elapsed,
        "core": used / elapsed,
        "idle_core": idle,
        "ms_per_report": (used / elapsed - idle) / (reports / elapsed) * 1000,
        "database_core": database / elapsed,
        "answered_p50_s": percentile(agents.took, 0.5),
        "answered_p99_s": percentile(agents.took, 0.99),
        "failed": len(agents.failed),
        "why": agents.failed[:3],
        "resident_mb": server.resident_mb,
    }


async def roll(url: str, neighbours: int) -> float:
    """Return the CPU seconds that this process needs to roll up an hour of one cloudlet's rounds, one a minute."""
    database = Database(url)
    hour = start(datetime.now(UTC), HOUR) - timedelta(hours=1)
    found = Summary(1, "icmp", 5, 5, 1.0, 2.0, 3.0, 0.1)
    rounds = {
        ("roll", name(n), hour + timedelta(minutes=m, milliseconds=n)): found
        for m in range(60)
        for n in range(neighbours)
    }
    async with database.write() as session:
        await history_table.add(session, ROUND, rounds)
        await reporters.save(session, (), {"roll": Reporter("r", 1, 0, 0, hour, hour)})
    began = cpu(os.getpid())
    times = 20
    for _ in range(times):
        await neighbour_history.roll_up(database, "roll", 60.0)
        async with database.write() as session:
            await reporters.rolled(session, "roll", hour)
    used = (cpu(os.getpid()) - began) / times
    await database.close()
    return used


@contextmanager
def databases(kind: str) -> Iterator[tuple[str, Path, list[int]]]:
    """Yield a new database on a disk: its URL, a directory, and the server's processes, if it has any."""
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-neighbours-"))
    try:
        if kind == "sqlite":
            yield f"sqlite+aiosqlite:///{directory}/weft.db", directory, []
            return
        with Cluster(durable=True) as cluster, cluster.database() as url:
            yield url, directory, _processes(cluster)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _processes(cluster: Cluster) -> list[int]:
    """Return the server's process and its children. The kernel adds a child's time to the server's only when the child
    has ended, so running children are counted as well."""
    pid = int((cluster.path / "data" / "postmaster.pid").read_text().splitlines()[0])
    return _Family([pid])


class _Family(list[int]):
    """A process and its current children, looked up at each iteration."""

    def __iter__(self) -> Iterator[int]:
        for pid in list(super().__iter__()):
            yield pid
            yield from map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def main() -> int:
    """Run the benchmark. Returns 0 if both databases are below the target, 1 if not."""
    parser = argparse.ArgumentParser(prog="make bench-neighbours", description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--neighbours", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long reports are measured [120]")
    parser.add_argument("--idle", type=float, default=30.0, help="how long streams alone are measured [30]")
    parser.add_argument("--interval", type=float, default=60.0, help="seconds between an agent's reports [60]")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--output", type=Path, help="figures as JSON")
    options = parser.parse_args()
    kinds = ("sqlite", "postgresql") if options.database == "both" else (options.database,)
    results: dict[str, Any] = {"agents": options.agents, "neighbours": options.neighbours, "machine": machine()}
    for kind in kinds:
        with databases(kind) as (url, directory, pids):
            fill(url, options.agents, APART, ACROSS)
            with controller(url, directory) as server:
                found = asyncio.run(load(server, pids, options, options.interval))
            found["roll_up_ms"] = asyncio.run(roll(url, options.neighbours)) * 1000
        found["roll_up_core"] = found["roll_up_ms"] / 1000 * options.agents / 3600
        results[kind] = found
        print(line(kind, found), flush=True)
    if options.output:
        options.output.write_text(json.dumps(results, indent=2) + "\n")
    return 0 if all(results[kind]["core"] < TARGET and not results[kind]["failed"] for kind in kinds) else 1


def line(kind: str, found: dict[str, Any]) -> str:
    """Return one database's figures as a line."""
    return (
        f"{kind}: {found['reports_per_s']:.1f} reports/s use {100 * found['core']:.1f} % of a core "
        f"({100 * found['idle_core']:.1f} % of it the open streams), {found['ms_per_report']:.2f} ms a report; "
        f"answered in {found['answered_p50_s']:.2f} s (p99 {found['answered_p99_s']:.2f} s), {found['failed']} failed; "
        f"PostgreSQL itself {100 * found['database_core']:.1f} %; roll-up {found['roll_up_ms']:.0f} ms per cloudlet "
        f"and hour, {100 * found['roll_up_core']:.2f} % of a core; {found['resident_mb']:.0f} MB {found['why'] or ''}"
    )


def machine() -> str:
    """Return a description of the machine that the benchmark ran on."""
    model = next((x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")), ": ?")
    return f"{os.cpu_count()} cores, {model.partition(': ')[2]}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
