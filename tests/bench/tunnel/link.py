"""Two sites and the WAN between them: plain and encrypted throughput, pings during rekeys, a peer that falls silent."""

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
"""Seconds in which TCP finds its sending rate; they do not count."""

PLAIN_MTU = 1450
PORT = 5201
BUFFERS, RECEIVE = Path("/proc/sys/net/core/rmem_default"), 4 << 20
"""The kernel's setting for receive buffers, and the octets that may wait for charon at its socket. Charon asks for no
size itself."""


@dataclass(frozen=True)
class Throughput:
    """The throughput of one stream: Mbit/s in each second; the load of all processors, 0..1 (1: none was idle); and the
    share of one processor that each charon took for 350 Mbit/s, averaged over both."""

    mbits: list[float]
    busy: float
    charon: float

    @property
    def median(self) -> float:
        """The median of all seconds except the first ones."""
        return statistics.median(self.mbits[RISE:])


@contextmanager
def receive_buffers() -> Iterator[None]:
    """Set the receive buffer as docs/network/ipsec.md says, for charons that start in the block: the kernel has one
    value for all namespaces."""
    before = BUFFERS.read_text()
    BUFFERS.write_text(f"{RECEIVE}")
    try:
        yield
    finally:
        BUFFERS.write_text(before)


@asynccontextmanager
async def pair(mbit: float = MBIT) -> AsyncIterator[Sites]:
    """Yield both sites, with a WAN of that rate between them."""
    with tempfile.TemporaryDirectory() as folder, wan(mbit, RTT_MS) as lay:
        async with AsyncExitStack() as stack:
            with receive_buffers():
                two = await stack.enter_async_context(sites(Path(folder), OPEN, lay))
                await eventually("charons", lambda: two.one.vici.exists() and two.two.vici.exists())
            yield two


async def join(two: Sites) -> float:
    """Create the tunnel; return the seconds until both sites have it."""
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
    """Remove the tunnel: traffic is in the clear again."""
    for site in (two.one, two.two):
        site.want()
        await eventually("nothing left", site.idle)
        await site.guard(OPEN)
        site.space.run(f"ip link set vx7 mtu {PLAIN_MTU}")


async def throughput(two: Sites, seconds: float) -> Throughput:
    """Measure the throughput of one TCP stream over VXLAN."""
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
    """Make new keys `count` times while both ends ping. Returns the number of rekeys, of pings answered, and of pings
    lost."""
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
    """Return the seconds until a silent peer is known to be dead."""
    two.two.pause()
    try:
        return await eventually("down", two.one.down, 30)
    finally:
        two.two.resume()


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]
