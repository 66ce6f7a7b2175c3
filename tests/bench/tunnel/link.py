"""Two sites and the WAN between them: throughput plain and encrypted, pings over new keys, a peer that falls silent."""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.ipsec import mtu
from agents.ipsec.device import QUEUE
from agents.ipsec.guard import DEVICE, OPEN
from tests.bench.tunnel import processors, stream
from tests.bench.tunnel.wan import wan
from tests.integration.agent_namespaces import wait_for
from tests.integration.ipsec_site import GUARD, LAN, Site, Sites, eventually, sites

MBIT, RTT_MS = 350.0, 50.0
RISE = 10
"""Seconds in which TCP finds out how fast it may send; they do not count."""

PLAIN_MTU = 1450
PORT = 5201
BUFFERS, RECEIVE = Path("/proc/sys/net/core/rmem_default"), 4 << 20
"""Octets that may wait for charon at its socket. It does not ask for any number itself."""


@dataclass(frozen=True)
class Throughput:
    """Mbit/s of one stream in its seconds; how busy all processors were, 0..1 (1: none was idle); and how much of one
    processor each charon took for 350 Mbit/s of it, on average of both."""

    mbits: list[float]
    busy: float
    charon: float

    @property
    def median(self) -> float:
        """Of its seconds, but for the first ones."""
        return statistics.median(self.mbits[RISE:])


@contextmanager
def receive_buffers() -> Iterator[None]:
    """As docs/network/ipsec.md says, for charons that are started meanwhile: the kernel has one value for all
    namespaces."""
    before = BUFFERS.read_text()
    BUFFERS.write_text(f"{RECEIVE}")
    try:
        yield
    finally:
        BUFFERS.write_text(before)


@asynccontextmanager
async def pair(mbit: float = MBIT) -> AsyncIterator[Sites]:
    """Both sites, with a WAN of that rate between them."""
    with tempfile.TemporaryDirectory() as folder, wan(mbit, RTT_MS) as lay:
        async with AsyncExitStack() as stack:
            with receive_buffers():
                two = await stack.enter_async_context(sites(Path(folder), OPEN, lay))
                await eventually("charons", lambda: two.one.vici.exists() and two.two.vici.exists())
            yield two


async def join(two: Sites) -> float:
    """Seconds until both have the tunnel."""
    began = time.monotonic()
    for site in (two.one, two.two):
        await site.guard(GUARD)
        site.space.run(f"ip link set vx7 mtu {mtu.lan(1500)}")
        site.want(site.other)
    await two.both_up()
    seconds = time.monotonic() - began
    for site in (two.one, two.two):  # as an agent does
        site.space.run(f"ip link set {DEVICE} txqueuelen {QUEUE}")
    return seconds


async def leave(two: Sites) -> None:
    """In the clear again."""
    for site in (two.one, two.two):
        site.want()
        await eventually("nothing left", site.idle)
        await site.guard(OPEN)
        site.space.run(f"ip link set vx7 mtu {PLAIN_MTU}")


async def throughput(two: Sites, seconds: float) -> Throughput:
    """Of one TCP stream over VXLAN."""
    taking = two.two.space.spawn(*_python("take", two.two), log=two.two.directory / "take")
    log = two.two.directory / "take"
    await asyncio.to_thread(wait_for, "the taker", lambda: "ready" in log.read_text())
    charons = [site.pid for site in (two.one, two.two)]
    before, used = processors.busy(), processors.used(charons)
    giving = two.one.space.spawn(*_python("give", two.two, f"{seconds}"), log=two.one.directory / "give")
    await asyncio.to_thread(giving.wait)
    after, used = processors.busy(), processors.used(charons) - used
    await asyncio.to_thread(taking.wait)
    mbits = [float(line) for line in log.read_text().split()[1:]]
    return Throughput(mbits, processors.share(before, after), used / 2 / (sum(mbits) / MBIT))


def _python(what: str, to: Site, *more: str) -> tuple[str, ...]:
    return (sys.executable, "-I", str(stream.__file__), what, LAN[to.name], f"{PORT}", *more)


async def rekeys(two: Sites, count: int, seconds: float) -> tuple[int, int, int]:
    """New keys `count` times under pings of both ends: how many times, pings answered, pings lost."""
    made = 0
    with two.chatter(seconds * 2 / 2400) as counted:
        for number in range(count):
            await asyncio.sleep(seconds / (count + 1))
            site = (two.one, two.two)[number % 2]
            what = "--child vtep" if number % 4 < 2 else f"--ike weft-{site.other}"
            made += "rekey completed" in await asyncio.to_thread(site.ask, f"--rekey {what}")
        await asyncio.sleep(seconds / (count + 1))
    return made, sum(answered for answered, _ in counted.values()), sum(lost for _, lost in counted.values())


async def dead(two: Sites) -> float:
    """Seconds until a peer that says nothing any more is known to be dead."""
    two.two.pause()
    try:
        return await eventually("down", two.one.down, 30)
    finally:
        two.two.resume()


def load() -> float:
    """How many processes want to run, over the last minute."""
    return os.getloadavg()[0]
