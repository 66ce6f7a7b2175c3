"""Legitimate callers, which time each of their requests: `python -m lab.siege.callers FILE`.

Each line of FILE is a caller, as JSON: `name`, `base` (a URL), `token`, `identity` (a directory; empty: none) and
`requests` (method, path, body). At its end the program prints the requests of each caller: the time, the seconds taken,
and the status (0: no answer).
"""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from agents.identity import tls
from controller.wire.certificates import CONTROLLER
from lab.siege.attacker import until_told

PAUSE = 0.2
"""Seconds between two requests of a caller."""

TIMEOUT = 30.0
NAME = {"sni_hostname": CONTROLLER}
"""The name to expect in the controller's certificate, which is for its name and not for an address."""


@dataclass(frozen=True)
class Caller:
    """One caller. `identity` is the directory of an agent's certificate, empty for none."""

    name: str
    base: str
    token: str
    identity: str
    requests: list[tuple[str, str, Any]]


Asked = tuple[float, float, int]
"""Unix time, seconds, status."""


@asynccontextmanager
async def _client(caller: Caller) -> AsyncIterator[httpx.AsyncClient]:
    verify: ssl.SSLContext | bool = False
    if caller.identity:
        directory = Path(caller.identity)
        authorities = (directory / "authorities.pem").read_text()
        verify = tls.context(authorities, directory / "certificate.pem", directory / "key.pem")
    headers = {"Authorization": f"Bearer {caller.token}"}
    async with httpx.AsyncClient(base_url=caller.base, headers=headers, verify=verify, timeout=TIMEOUT) as client:
        yield client


async def ask(caller: Caller, found: list[Asked]) -> None:
    """Make the caller's requests, one after the other, without end. Now and then use a new connection, because
    attackers may hinder that."""
    while True:
        async with _client(caller) as client:
            for method, path, body in caller.requests * 3:
                at, began = time.time(), time.monotonic()
                try:
                    status = (await client.request(method, path, json=body, extensions=NAME)).status_code
                except httpx.HTTPError:
                    status = 0
                found.append((at, time.monotonic() - began, status))
                await asyncio.sleep(PAUSE)


async def _all(callers: list[Caller], found: dict[str, list[Asked]]) -> None:
    async with asyncio.TaskGroup() as group:
        for caller in callers:
            group.create_task(ask(caller, found[caller.name]))


def main(path: str) -> None:
    """Run until SIGTERM."""
    callers = [Caller(**json.loads(line)) for line in Path(path).read_text().splitlines()]
    found: dict[str, list[Asked]] = {caller.name: [] for caller in callers}
    asyncio.run(until_told(_all(callers, found)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
