"""Hostile strangers at the API: `python -m lab.siege.strangers HOST HTTP-PORT TLS-PORT`. They have no token."""

import asyncio
import os
import random
import ssl
import sys
from collections import Counter
from itertools import count, cycle

from lab.siege.attacker import Counts, attack
from lab.siege.bodies import SHAPES

SIZE = 200_000
PACE = 0.05
"""Seconds between two requests of one of them. Together they make more requests than strangers are allowed."""

ASKING = 3
SLOW = 300
"""Connections that send an octet now and then."""

HEADS = (
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000,
    b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /api/v1/enrolments HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    b"POST /api/v1/enrolments HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"GET /a%00b HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /healthz HTTP/9.9\r\n\r\n",
    b"\0" * 5000,
    b"\r\n" * 5000,
)
"""Octets that a server does not expect from a client."""


class Strangers:
    """The attacks of strangers. Each runs without end."""

    def __init__(self, host: str, plain: int, tls: int, done: Counts) -> None:
        self._host, self._plain, self._tls, self._done = host, plain, tls, done
        self._nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._nobody.check_hostname, self._nobody.verify_mode = False, ssl.CERT_NONE

    async def bodies(self) -> None:
        """Post large bodies of the worst shapes to unknown paths, each with an Idempotency-Key."""
        for number, (name, shape) in zip(count(), cycle(SHAPES.items())):
            path = f"/api/v1/{random.choice(('agent/reports', 'endpoints', 'policy/plan', 'x' * 4000))}/{number}"
            await self._post(path, shape(SIZE), f"body: {name}", self._plain, tls=False)
            await asyncio.sleep(PACE)

    async def guesses(self) -> None:
        """Try to enrol with guessed tokens and names."""
        for number, (_, shape) in zip(count(), cycle(SHAPES.items())):
            guess = b'{"cloudlet":"c%d","token":"%s","agent_version":"1"}' % (number % 5, os.urandom(24).hex().encode())
            body = guess if number % 2 else shape(30_000)
            await self._post("/api/v1/enrolments", body, "enrolment guessed", self._tls, tls=True)
            await asyncio.sleep(PACE)

    async def malformed(self) -> None:
        """Send octets that are neither HTTP nor TLS."""
        for head in cycle(HEADS):
            for port in (self._plain, self._tls):
                try:
                    reader, writer = await asyncio.open_connection(self._host, port)
                    writer.write(head)
                    async with asyncio.timeout(1):
                        await reader.read(4096)
                    writer.close()
                except (OSError, TimeoutError):
                    pass
                self._done["malformed"] += 1
            await asyncio.sleep(2 * PACE)

    async def slow(self) -> None:
        """Send a request that never is complete, over one connection after the other."""
        while True:
            try:
                _, writer = await asyncio.open_connection(self._host, random.choice((self._plain, self._tls)))
                self._done["slow connection"] += 1
                for octet in b"POST /api/v1/enrolments HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100:
                    writer.write(bytes((octet,)))
                    await writer.drain()
                    await asyncio.sleep(5 * random.random())
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(random.random())

    async def _post(self, path: str, body: bytes, what: str, port: int, *, tls: bool) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        head += f"Idempotency-Key: {random.getrandbits(60)}\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            reader, writer = await asyncio.open_connection(self._host, port, ssl=self._nobody if tls else None)
            writer.write(head.encode() + body)
            async with asyncio.timeout(10):
                line = (await reader.readline()).split()
            status = line[1].decode() if len(line) > 1 else "none"
            writer.close()
        except (OSError, TimeoutError):
            status = "none"
        self._done[f"{what.partition(':')[0]}, answered {status}"] += 1


async def main(host: str, plain: int, tls: int, done: Counts) -> None:
    """Run all of it at once."""
    some = Strangers(host, plain, tls, done)
    async with asyncio.TaskGroup() as group:
        for _ in range(ASKING):
            group.create_task(some.bodies())
            group.create_task(some.guesses())
        group.create_task(some.malformed())
        for _ in range(SLOW):
            group.create_task(some.slow())


if __name__ == "__main__":
    counts: Counts = Counter()
    attack(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), counts), counts)
