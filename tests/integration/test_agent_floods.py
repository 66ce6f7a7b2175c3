"""A tunnel's real forwarding database, in which MACs of remotes come and go: each read returns every entry that
stays."""

import asyncio
from collections.abc import Iterator

import pytest

from agents.kernel.netlink import Kernel
from agents.kernel.snapshot import Flood
from tests.integration.agent_namespaces import Namespace, namespaces

pytestmark = pytest.mark.lab

FAR = "192.0.2.2"
MACS = [f"02:bd:00:00:{number >> 8:02x}:{number & 255:02x}" for number in range(3000)]
READS = 40


@pytest.fixture
def pe() -> Iterator[Namespace]:
    """A PE with a tunnel, its flood entry, and 3,000 MACs behind it."""
    with namespaces("pe") as (space,):
        space.run("ip link set lo up")
        space.run("ip link add vx1 type vxlan id 10000 local 127.0.0.1 dstport 4789 nolearning")
        space.run("ip link set vx1 up")
        space.run(f"bridge fdb append 00:00:00:00:00:00 dev vx1 dst {FAR}")
        space.run("bridge -batch -", stdin=_batch("add"))
        yield space


def _batch(verb: str) -> str:
    return "".join(f"fdb {verb} {mac} dev vx1 dst 192.0.2.9\n" for mac in MACS)


async def _churn(space: Namespace, going: asyncio.Event) -> None:
    while not going.is_set():
        for verb in ("del", "add"):
            await asyncio.to_thread(space.run, "bridge -batch -", stdin=_batch(verb))


async def test_a_flood_entry_is_there_whatever_macs_come_and_go(pe: Namespace) -> None:
    there, over = frozenset({Flood(FAR, 10000)}), asyncio.Event()
    churning = asyncio.create_task(_churn(pe, over))
    with pe.entered():
        async with Kernel() as kernel:
            read = [(await kernel.read()).vxlans["vx1"].flood for _ in range(READS)]
    over.set()
    await churning
    assert read == [there] * READS


async def test_a_flood_entry_that_is_taken_out_is_gone(pe: Namespace) -> None:
    with pe.entered():
        async with Kernel() as kernel:
            assert (await kernel.read()).vxlans["vx1"].flood == frozenset({Flood(FAR, 10000)})
            pe.run(f"bridge fdb del 00:00:00:00:00:00 dev vx1 dst {FAR}")
            assert (await kernel.read()).vxlans["vx1"].flood == frozenset()
