"""`make bench-leases`: how many leases a second a region gives out and accounts for.

Controllers are processes of their own over one PostgreSQL with its data on the disk; agents are simulated
(tests/bench/site.py). Clients come at a steady rate, whether earlier ones have been answered or not. The benchmark
compares the leases of all clients with each other and with the database: no two clients may have one address. It fails
if two do; it only reports a missed rate.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from controller.core.addresses import AddressPlan
from tests.bench.site import prefix
from tests.postgres import Cluster

ROOT = Path(__file__).parents[2]
ADMIN = "an-admin-token"
PORT = 18480

BAR = 2000
"""Leases a second that a region must reach, with no address given twice."""

ROOM = AddressPlan.of(prefix(1)).capacity * 9 // 10
"""Clients of an agent: the controller keeps a sixteenth of the agent's pairs for itself, and some are kept ready."""

WARM_UP = 3.0
"""Seconds of load at a quarter of the rate, before anything is measured."""


class Controllers:
    """Several controllers over one database."""

    def __init__(self, number: int, url: str, folder: Path) -> None:
        (folder / "admin").write_text(ADMIN)
        self.urls = [f"http://127.0.0.1:{PORT + i}" for i in range(number)]
        self.processes = []
        for i in range(number):
            environment = {
                **os.environ,
                "WEFT_DATABASE_URL": url,
                "WEFT_LISTEN": f"127.0.0.1:{PORT + i}",
                "WEFT_ADMIN_TOKEN_FILE": str(folder / "admin"),
                "PYTHONPATH": str(ROOT),
            }
            with (folder / f"controller{i}.log").open("wb") as log:
                command = [sys.executable, "-m", "controller.main"]
                self.processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder))
            self._wait(self.urls[i])

    def _wait(self, url: str) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                if httpx.get(f"{url}/healthz", trust_env=False).status_code < 500:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"the controller at {url} did not start")

    def agree(self, cloudlets: int) -> None:
        """Wait until every controller knows this number of cloudlets and admits their agents."""
        headers, until = {"Authorization": f"Bearer {ADMIN}"}, time.monotonic() + 60
        for url in self.urls:
            while True:
                query = {"limit": str(cloudlets)}
                answer = httpx.get(f"{url}/api/v1/endpoints", params=query, headers=headers, trust_env=False).json()
                active = httpx.get(f"{url}/api/v1/cloudlets", params=query, headers=headers, trust_env=False).json()
                if len(answer["items"]) == cloudlets and all(c["state"] == "active" for c in active["items"]):
                    break
                if time.monotonic() > until:
                    raise SystemExit(f"{url} has heard of {len(answer['items'])} LANs of {cloudlets}")
                time.sleep(0.1)
        time.sleep(1)

    def cpu(self) -> float:
        """Return the seconds of CPU that all controllers have used."""
        return sum(cpu(process.pid) for process in self.processes)

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(30)


def cpu(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def database_cpu(cluster: Cluster) -> float:
    """Return the seconds of CPU that the database server and all its child processes have used."""
    top = str(cluster._server.pid)
    used = cpu(int(top))
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == top:
            used += cpu(int(entry.parent.name))
    return used


def found(url: str, cloudlets: int) -> dict[int, str]:
    """Create cloudlets with a LAN each; return the credentials of their agents."""
    credentials = {}
    with httpx.Client(base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {ADMIN}"}, trust_env=False) as http:
        for number in range(1, cloudlets + 1):
            name = f"c{number}"
            made = http.post("/cloudlets", json={"name": name, "pe": "vpls", "vtep": f"192.0.2.{number}"}).json()
            body = {"token": made["token"], "cloudlet": name, "agent_version": "1"}
            credentials[number] = http.post("/enrolments", json=body).json()["credential"]
            lan = {"name": f"{name}-lan", "cloudlet": name, "prefix": prefix(number)}
            http.post("/endpoints", json=lan, timeout=30).raise_for_status()
    return credentials


class Sites:
    """The simulated agents, in as many processes as there are cores."""

    def __init__(self, urls: list[str], credentials: dict[int, str], directory: Path) -> None:
        numbers, here = sorted(credentials), os.cpu_count() or 1
        self.processes = []
        for i in range(min(here, len(numbers))):
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.site"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            plan = {"urls": urls, "credentials": credentials, "numbers": numbers[i::here], "directory": str(directory)}
            self.processes.append(process)
            self._say(process, plan)
            assert process.stdout is not None and process.stdout.readline() == "ready\n"

    def _say(self, process: "subprocess.Popen[str]", what: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(what) + "\n")
        process.stdin.flush()

    def phase(self, **what: Any) -> dict[str, Any]:
        """Run one phase in all processes and return their combined measurements."""
        share = len(self.processes)
        for process in self.processes:
            self._say(process, what | {"rate": what["rate"] / share, "at_once": what["at_once"] // share})
        results = [json.loads(process.stdout.readline()) for process in self.processes if process.stdout]
        took = sorted(seconds for result in results for seconds in result["took"])
        answered = max(result["answered"] for result in results)
        return {
            "offered": what["rate"],
            "leases": len(took),
            "failed": sum(result["failed"] for result in results),
            "per_second": len(took) / answered,
            "p50_ms": 1000 * statistics.median(took) if took else None,
            "p99_ms": 1000 * took[int(len(took) * 0.99)] if took else None,
            "in_database_after_s": max(result["told"] for result in results) - what["seconds"],
            "promised": [promise for result in results for promise in result["promised"]],
            "twice": [address for result in results for address in result["twice"]],
        }

    def close(self) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self.processes:
            process.wait(60)


async def leased(cluster: Cluster) -> dict[str, str | None]:
    """Return the client id of each leased address, as the controllers' database has it."""
    connection = await asyncpg.connect(host=str(cluster.path), user="postgres", database="bench")
    try:
        return dict(await connection.fetch("SELECT address, client_id FROM leases WHERE expires_at > now()"))
    finally:
        await connection.close()


def double(promised: list[tuple[str, str]], leased: Mapping[str, str | None]) -> set[str]:
    """Return the addresses that two clients believe to hold, or that one client believes to hold while the database has
    another client's lease on it."""
    holders = dict[str, set[str | None]]()
    for address, client in [*promised, *((address, leased[address]) for address, _ in promised if address in leased)]:
        holders.setdefault(address, set()).add(client)
    return {address for address, clients in holders.items() if len(clients) > 1}


def bar(row: dict[str, Any]) -> str:
    """Return whether a row meets the bar; "-" for the way of former releases, which need not meet it."""
    if row["way"] != "ranges":
        return "-"
    return "yes" if row["per_second"] >= BAR and not row["double"] else "no"


def verdict(rows: list[dict[str, Any]]) -> str:
    """Return the comparison of all rows with the bar, in words."""
    lines = [f"The bar: {BAR:,} leases a second, none double."]
    for row in rows:
        if (met := bar(row)) != "-":
            n, found = row["controllers"], f"{row['per_second']:,.0f}/s of {row['offered']:,.0f} offered"
            name = f"{row['what']}, {n} controller{'s' if n > 1 else ''}"
            lines.append(f"{'Met' if met == 'yes' else 'Missed'}: {name}: {found}, {row['double']} given twice.")
    if any(row["offered"] <= BAR for row in rows):
        lines.append(f"No more than is offered can be answered in time: `--rate` above {BAR} leaves room for the bar.")
    return "\n".join(lines)


def run(controllers: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure one number of controllers: new clients, then renewals, then the way of former releases for comparison."""
    rows, twice = [], set[str]()
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(durable=True))
        cluster.create("bench")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-bench-", dir=options.directory)))
        servers = Controllers(controllers, cluster.url("bench"), folder)
        stack.callback(servers.close)
        credentials = found(servers.urls[0], options.agents)
        servers.agree(options.agents)
        sites = Sites(servers.urls, credentials, folder)
        stack.callback(sites.close)
        phases = [("warm-up", "ranges", True, options.rate / 4, WARM_UP)]
        phases += [("new clients", "ranges", True, options.rate, options.seconds)]
        phases += [("renewals", "ranges", False, options.rate, options.seconds)]
        phases += [("renewals, a request each", "plain", False, options.rate, min(10.0, options.seconds))]
        for name, way, new, rate, seconds in phases:
            before, base, started = servers.cpu(), database_cpu(cluster), time.monotonic()
            row = sites.phase(way=way, new=new, rate=rate, seconds=seconds, at_once=options.at_once)
            passed = time.monotonic() - started
            row |= {"what": name, "way": way, "controllers": controllers}
            row |= {"controllers_cpu": (servers.cpu() - before) / passed}
            row |= {"database_cpu": (database_cpu(cluster) - base) / passed}
            promised, there = row.pop("promised"), asyncio.run(leased(cluster))
            twice |= double(promised, there) | set(row.pop("twice"))
            row |= {"double": len(twice), "promised": len(promised), "in_database": len(there)}
            if name != "warm-up":
                rows.append(row)
                print(json.dumps(row), flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        "| controllers | what | offered/s | leases/s | unanswered | p50 ms | p99 ms | controllers' CPU "
        "| PostgreSQL's CPU | given twice | bar met |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        p50, p99 = (f"{row[key]:.1f}" if row[key] is not None else "-" for key in ("p50_ms", "p99_ms"))
        used = f"{row['controllers_cpu']:.0%} | {row['database_cpu']:.0%}"
        lines.append(
            f"| {row['controllers']} | {row['what']} | {row['offered']:.0f} | {row['per_second']:.0f} "
            f"| {row['failed']} | {p50} | {p99} | {used} | {row['double']} | {bar(row)} |"
        )
    return "\n".join(lines)


def asked(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line. By default the benchmark offers more than the bar for a minute."""
    parser = argparse.ArgumentParser(prog="bench-leases", description=__doc__)
    parser.add_argument("--controllers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--agents", type=int, default=40)
    parser.add_argument("--rate", type=float, default=2500)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--at-once", type=int, default=2000)
    parser.add_argument("--directory", type=Path, default=None, help="where journals are written")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    clients, room = options.rate * (options.seconds + WARM_UP / 4), options.agents * ROOM
    if not 1 <= options.agents <= 250:
        parser.error("--agents: 1 to 250")
    if clients > room:
        parser.error(f"{clients:,.0f} new clients find {room:,.0f} pairs: more --agents, or fewer --seconds")
    return options


def main() -> None:
    options = asked()
    rows = [row for number in options.controllers for row in run(number, options)]
    print(f"{table(rows)}\n\n{verdict(rows)}")
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")
    if any(row["double"] for row in rows):
        raise SystemExit("an address was given out twice")


if __name__ == "__main__":
    main()
