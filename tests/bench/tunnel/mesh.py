"""Many cloudlets on one wire, each with a charon: the time until every one has a tunnel to every other."""

import asyncio
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.ipsec import TunnelIntent, TunnelPeer
from agents.ipsec.strongswan import Strongswan
from tests.bench.tunnel.processors import used
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.ipsec_site import Authority, charon, eventually


@dataclass(frozen=True)
class Mesh:
    """The result for one number of `cloudlets`: `seconds` until all `tunnels` were up at both ends, and the processor
    seconds that the charons (`charons`) and the code that controls them (`agents`) used."""

    cloudlets: int
    seconds: float
    charons: float
    agents: float

    @property
    def tunnels(self) -> int:
        """The number of tunnels: one between any two cloudlets."""
        return self.cloudlets * (self.cloudlets - 1) // 2


def vtep(number: int) -> str:
    """Return the VTEP address of a cloudlet; numbers begin with 1."""
    return f"192.0.2.{number}"


async def mesh(count: int, patience: float = 60.0) -> Mesh:
    """Request all tunnels at the same moment, from running charons that know no peer yet, and measure."""
    names = [f"m{number}" for number in range(1, count + 1)]
    # Each of them has a thread that listens to its charon, and asks in others.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(3 * count))
    with tempfile.TemporaryDirectory() as folder, namespaces("core", *names) as [core, *spaces]:
        core.run("ip link add core type bridge")
        core.run("ip link set core up")
        peers = [TunnelPeer(f"c{number}", vtep(number)) for number in range(1, count + 1)]
        authority, tunnels, pids = Authority(), list[Strongswan](), list[int]()
        for number, (space, peer) in enumerate(zip(spaces, peers, strict=True), 1):
            directory = Path(folder) / peer.cloudlet
            authority.issue(peer.cloudlet, directory / "identity", peer.vtep)
            _lay(core, space, number)
            pids.append(space.spawn(*charon(directory), log=directory / "stdout").pid)
            tunnels.append(Strongswan(directory / "charon.vici", directory / "identity", lambda: None))
        tasks = [asyncio.create_task(each.run()) for each in tunnels]
        try:
            await eventually(
                "charons", lambda: all((Path(folder) / p.cloudlet / "charon.vici").exists() for p in peers)
            )
            await asyncio.sleep(2)
            began, charons, agents = time.monotonic(), used(pids), used([os.getpid()])
            for own, each in zip(peers, tunnels, strict=True):
                each.intend(TunnelIntent(own.cloudlet, own.vtep, tuple(sorted(p for p in peers if p != own))))
            await eventually("all tunnels", lambda: all(_whole(each, count - 1) for each in tunnels), patience)
            return Mesh(count, time.monotonic() - began, used(pids) - charons, used([os.getpid()]) - agents)
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def _lay(core: Namespace, space: Namespace, number: int) -> None:
    cable(space, "wan0", core, f"w{number}")
    core.run(f"ip link set w{number} master core")
    space.run(f"ip addr add {vtep(number)}/32 dev lo")
    space.run(f"ip addr add 198.18.0.{number}/24 dev wan0")
    space.run(f"ip route add 192.0.2.0/24 dev wan0 src {vtep(number)}")
    space.run("sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.wan0.rp_filter=0")


def _whole(tunnels: Strongswan, others: int) -> bool:
    return sum(state.up for state in tunnels.states.values()) == others
