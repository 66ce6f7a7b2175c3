"""The traffic of a move, TCP from VTEP to VTEP, with real charons: it uses the tunnel or waits for it, whatever fails
meanwhile. Each test runs once more without the rule, to see the traffic leave in the clear."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.ipsec.guard import OPEN, guard
from tests.integration import ipsec_site
from tests.integration.ipsec_site import Site, Sites, eventually, sites

reason = ipsec_site.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]

PORT = 49152
"""The port at which a machine arrives."""

# Sends bytes until nobody accepts them, at a rate at which some are always on their way.
SEND = f"""
import socket, sys, time
link = socket.create_connection((sys.argv[1], {PORT}))
while True:
    link.sendall(bytes(20_000))
    time.sleep(0.01)
"""
TAKE = f"""
import socket, sys
link, _ = socket.create_server((sys.argv[1], {PORT})).accept()
while took := len(link.recv(1 << 16)):
    print(took, flush=True)
"""

both = pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "open"])


async def keep(two: Sites, *, guarded: bool, shared: bool = True) -> None:
    """Load the guard of two cloudlets that share a pool, or no longer share one; `guarded` is false for a guard without
    peers."""
    for site in (two.one, two.two):
        other = two.two if site is two.one else two.one
        await site.guard(guard(peers=[other.vtep] if guarded and shared else []))


class Stream:
    """A TCP stream from one site to the other."""

    def __init__(self, directory: Path) -> None:
        self._taken = directory / "taken"

    @property
    def taken(self) -> int:
        """The number of bytes that have arrived."""
        return sum(map(int, self._taken.read_text().split()))

    async def flows(self, seconds: float = 15.0) -> None:
        """Wait until more bytes have arrived than were under way."""
        before = self.taken
        await eventually("it goes on", lambda: self.taken > before + (2 << 20), seconds)


@asynccontextmanager
async def streaming(two: Sites, directory: Path) -> AsyncIterator[Stream]:
    """Run a stream through the tunnel during the block."""
    two.one.want("c2")
    two.two.want("c1")
    await two.both_up()
    taking = two.two.space.spawn(sys.executable, "-c", TAKE, two.two.vtep, log=directory / "taken")
    await eventually("listens", lambda: f":{PORT}" in two.two.space.run("ss -ltn"))
    sending = two.one.space.spawn(sys.executable, "-c", SEND, two.two.vtep, log=directory / "sent")
    stream = Stream(directory)
    try:
        await stream.flows()
        yield stream
    finally:
        for process in (sending, taking):
            process.kill()
            process.wait()


@both
async def test_a_charon_that_is_killed_in_mid_stream(tmp_path: Path, guarded: bool) -> None:
    """The source's charon is killed. No segment is sent in the clear, and the connection continues when charon is
    back."""
    async with sites(tmp_path) as two:
        await keep(two, guarded=guarded)
        with two.wire("tcp") as plain:
            async with streaming(two, tmp_path) as stream:
                two.one.kill()
                await eventually("down", two.one.down)
                await asyncio.sleep(2)
                two.one.start()
                await two.both_up(15)
                await stream.flows(30)
        assert (plain == []) is guarded, plain[:3]


@both
async def test_a_pool_that_is_left_in_mid_stream(tmp_path: Path, guarded: bool) -> None:
    """The tunnel goes with the pool; the stream's data finds no other path."""
    async with sites(tmp_path) as two:
        await keep(two, guarded=guarded)
        with two.wire("tcp") as plain:
            async with streaming(two, tmp_path):
                await keep(two, guarded=guarded, shared=False)
                for site in (two.one, two.two):
                    site.want()
                for site in (two.one, two.two):
                    await eventually("nothing left", site.idle)
                await asyncio.sleep(2)
        assert (plain == []) is guarded, plain[:3]


async def test_neither_end_begins_or_takes_a_connection_in_the_clear(tmp_path: Path) -> None:
    """The guard covers cloudlets that share a pool. It does not concern hosts that have never shared one."""
    async with sites(tmp_path) as two:

        async def connects(source: str = "") -> bool:
            with two.two.space.entered():
                waiting = socket.create_server(("0.0.0.0", PORT))
            with two.one.space.entered():
                link = socket.socket()
            with waiting, link:
                link.settimeout(1)
                link.bind((source, 0))
                return await asyncio.to_thread(link.connect_ex, (two.two.vtep, PORT)) == 0

        async def peers(site: Site, *vteps: str) -> None:
            await site.guard(guard(peers=vteps))

        assert await connects() and await connects(two.one.vtep)
        await peers(two.one, two.two.vtep)
        with two.wire("tcp") as plain:
            assert not await connects() and not await connects(two.one.vtep), "from whatever address"
        assert plain == []
        await two.one.guard(OPEN)
        await peers(two.two, two.one.vtep)
        with two.wire("tcp") as plain:
            assert not await connects(two.one.vtep)
        assert plain, "it was sent"
        await peers(two.two)
        assert await connects(two.one.vtep)
