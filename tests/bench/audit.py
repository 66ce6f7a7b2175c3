"""`make bench-audit`: the time that the audit log adds to a request.

One controller runs in this process, on SQLite on the disk; one client calls it over loopback. The client makes and
removes a pool again and again, with the audit log and without it in turn, so that other load on the machine affects
both alike.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from starlette.types import Receive, Scope, Send

from controller.api.middleware.audit import Audit
from controller.auth import audit_context
from controller.db.engine import Database
from controller.server.app import create_app
from controller.settings import Settings
from tests.unit.controller.fake_routeserver import serving

ADMIN = "an-admin-token"
BLOCK = 10
"""Consecutive requests of one kind."""

audited = Audit.__call__


async def unaudited(self: Audit, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass the request on, as if there were no audit middleware."""
    await self._app(scope, receive, send)


async def measure(url: str, database: Database, requests: int) -> dict[str, list[float]]:
    """Return the milliseconds that each request takes, by kind."""
    found: dict[str, list[float]] = {"audited": [], "unaudited": []}
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30) as http:
        for number in range(2 * requests // BLOCK):
            kind = ("audited", "unaudited")[number % 2]
            Audit.__call__ = audited if kind == "audited" else unaudited  # type: ignore[method-assign]
            database.watch = audit_context.watch if kind == "audited" else lambda session: None
            for turn in range(BLOCK // 2):
                name = f"p{number}-{turn}"
                for method, path, body in (("POST", "/vcps", {"name": name}), ("DELETE", f"/vcps/{name}", None)):
                    before = time.perf_counter()
                    (await http.request(method, f"/api/v1{path}", json=body)).raise_for_status()
                    found[kind].append(1000 * (time.perf_counter() - before))
        entries = (await http.get("/api/v1/audit/verification")).json()
    Audit.__call__ = audited  # type: ignore[method-assign]
    assert entries["flaw"] is None and entries["entries"] == len(found["audited"]), entries
    return found


async def run(requests: int) -> dict[str, Any]:
    """Run the benchmark and return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        admin = Path(folder) / "admin"
        admin.write_text(ADMIN)
        app = create_app(Settings(database_url=f"sqlite+aiosqlite:///{folder}/weft.db", admin_token_file=admin))
        async with serving(app) as url:
            found = await measure(url, app.state.region.database, requests)
    told: dict[str, Any] = {"requests": requests}
    for kind, times in found.items():
        median, ninetieth = statistics.median(times), statistics.quantiles(times, n=10)[-1]
        told[kind] = {"median_ms": round(median, 2), "p90_ms": round(ninetieth, 2)}
    told["cost_ms"] = round(told["audited"]["median_ms"] - told["unaudited"]["median_ms"], 2)
    return told


def main() -> None:
    """Parse the arguments, run the benchmark, and print the figures."""
    parser = argparse.ArgumentParser(description="What the audit log costs a request.")
    parser.add_argument("--requests", type=int, default=1000, help="of each kind")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    found = asyncio.run(run(options.requests))
    print(json.dumps(found, indent=2))
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
