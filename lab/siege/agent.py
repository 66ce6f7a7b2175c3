"""A hostile agent with valid credentials: `python -m lab.siege.agent BASE CLOUDLET ENDPOINT STATE-DIRECTORY`."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import httpx

from agents.identity import tls
from controller.wire.certificates import CONTROLLER
from lab.siege import reports
from lab.siege.attacker import Counts, attack
from lab.siege.reports import Post

PACE = {"alternating": 0.01, "large": 0.2, "misshapen": 0.2, "odd": 0.02}
"""Seconds between two requests of each kind; together they exceed the 200 a second that an agent may make."""

NAME = {"sni_hostname": CONTROLLER}
STREAMS = 100
"""Streams of its desired state that it holds open at the same time."""


async def post(client: httpx.AsyncClient, posts: Iterator[Post], pause: float, done: Counts) -> None:
    """Post one after the other, without end."""
    for what, route, body in posts:
        try:
            answer = await client.post(f"agent/{route}", content=body, extensions=NAME)
            done[f"{what}, answered {answer.status_code}"] += 1
        except httpx.HTTPError as error:
            done[f"{what}, {type(error).__name__}"] += 1
        await asyncio.sleep(pause)


async def follow(client: httpx.AsyncClient, done: Counts) -> None:
    """Open a stream, read a little, leave it, and open it again, without end."""
    for pause in cycle((0.1, 5.0)):
        try:
            async with client.stream("GET", "agent/desired", extensions=NAME) as stream:
                done["streams opened"] += stream.status_code == 200
                await asyncio.sleep(pause)
        except httpx.HTTPError:
            pass
        await asyncio.sleep(pause)


async def main(base: str, cloudlet: str, endpoint: str, state: Path, done: Counts) -> None:
    """Run all of it at once."""
    identity = state / "identity"
    context = tls.context(
        (identity / "authorities.pem").read_text(), identity / "certificate.pem", identity / "key.pem"
    )
    credential = json.loads((state / "credential.json").read_text())["credential"]
    headers = {"Authorization": f"Bearer {credential}", "Content-Type": "application/json"}
    limits = httpx.Limits(max_connections=2 * STREAMS)
    async with (
        httpx.AsyncClient(base_url=base, headers=headers, verify=context, timeout=30, limits=limits) as client,
        asyncio.TaskGroup() as group,
    ):
        for kind, posts in {
            "alternating": reports.alternating(cloudlet, endpoint),
            "large": reports.large(cloudlet, endpoint),
            "misshapen": reports.misshapen(),
            "odd": reports.odd(cloudlet, endpoint),
        }.items():
            group.create_task(post(client, posts, PACE[kind], done))
        for _ in range(STREAMS):
            group.create_task(follow(client, done))


if __name__ == "__main__":
    counts: Counts = Counter()
    attack(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]), counts), counts)
