"""Two LANs with a DHCP server each and a device beyond them, for guests: all in namespaces of their own.

`LANS` holds the bridges `lan1` (10.91.1.1/24) and `lan2` (10.91.2.1/24); a machine that sends its client id (option 61)
gets the lease `.3` on either. `DEVICE` has 10.91.9.2 and the MPTCP settings of a mobile device. With IPv6
(fd00:91:N::/64) each LAN also has a router that advertises itself; the address pair has the same numbers in both
families.
"""

import argparse
import asyncio
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.dhcp.lease_source import LeaseRefused
from agents.dhcp.ra import Advertisement, Advertiser
from agents.dhcp.v4 import DhcpServer, LanSettings
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from controller.wire.machines import client_id
from lab import netns, underlay

LANS, DEVICE = f"{netns.PREFIX}guest-lans", f"{netns.PREFIX}guest-device"
CLIENT = client_id("guest")
MARK = "weft-guest-tests"
LOCK = Path(f"/run/{MARK}.lock")
DEVICE_ADDRESS, DEVICE_ADDRESS6 = "10.91.9.2", "fd00:91:9::2"
MPTCP = {"net.mptcp.enabled": "1"} | netns.known(underlay.MPTCP)


def address(lan: int) -> str:
    """Return the machine's address on a LAN."""
    return f"10.91.{lan}.3"


def address6(lan: int) -> str:
    """Return the machine's IPv6 address on a LAN."""
    return f"fd00:91:{lan}::3"


def mac(lan: int) -> str:
    """Return the MAC of a LAN's bridge."""
    return f"02:57:00:00:00:{lan:02x}"


@contextmanager
def alone() -> Iterator[None]:
    """Lock these namespaces for the block: tests of another worktree wait."""
    with LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def up(seconds: int, six: bool = False) -> list[subprocess.Popen[bytes]]:
    """Create the LANs and the device, with IPv6 if `six`. The caller ends the returned DHCP servers, whose leases last
    `seconds`."""
    netns.create([LANS, DEVICE], MARK)
    netns.cables([((LANS, "device"), (DEVICE, "eth0"))])
    lines = ["addr add 10.91.9.1/24 dev device", "link set device up"]
    for lan in (1, 2):
        lines += [
            f"link add lan{lan} address {mac(lan)} type bridge",
            f"addr add 10.91.{lan}.1/24 dev lan{lan}",
            f"link set lan{lan} up",
        ]
    netns.configure(LANS, sysctl={"net.ipv4.ip_forward": "1"}, ip=lines)
    device = [f"addr add {DEVICE_ADDRESS}/24 dev eth0", "link set eth0 up", "route add default via 10.91.9.1"]
    device += ["mptcp limits set subflows 8 add_addr_accepted 8"]
    netns.configure(DEVICE, sysctl=MPTCP, ip=device)
    if six:
        lines = ["addr add fd00:91:9::1/64 dev device nodad"]
        lines += [f"addr add fd00:91:{lan}::1/64 dev lan{lan} nodad" for lan in (1, 2)]
        netns.configure(LANS, sysctl={"net.ipv6.conf.all.forwarding": "1"}, ip=lines)
        device = [f"addr add {DEVICE_ADDRESS6}/64 dev eth0 nodad", "route add ::/0 via fd00:91:9::1"]
        netns.configure(DEVICE, sysctl={}, ip=device)
    return [serve(lan, seconds, six) for lan in (1, 2)]


def down(*others: str) -> None:
    netns.remove([LANS, DEVICE, *others])


def serve(lan: int, seconds: int, six: bool = False) -> subprocess.Popen[bytes]:
    """Start a DHCP server, and with `six` also a router that advertises itself."""
    words = [str(lan), str(seconds), *(["--six"] if six else [])]
    argv = netns.command(LANS, [sys.executable, "-m", "tests.integration.guest_lan", *words])
    server = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"serves\n"
    return server


class Plan:
    """A plan for one machine, known by its client id alone: either vNIC gets its address."""

    def __init__(self, lan: int, seconds: int) -> None:
        self._lan, self._seconds = lan, seconds

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        await asyncio.sleep(0)
        if request.client_id != CLIENT:
            raise LeaseRefused(f"client {request.client_id} is a stranger")
        return LeaseGrant(
            address=address(self._lan),
            prefix_length=24,
            gateway=f"10.91.{self._lan}.1",
            kind="vm",
            device="phone",
            seconds=self._seconds,
        )

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        return await self.grant(request)

    async def release(self, release: LeaseRelease) -> None:
        await asyncio.sleep(0)

    async def decline(self, release: LeaseRelease) -> None:
        await asyncio.sleep(0)


async def _serve(lan: int, seconds: int, six: bool) -> None:
    server = DhcpServer(
        "guest", f"lan{lan}", LanSettings.of(f"10.91.{lan}.1", f"10.91.{lan}.0/24", 1500), Plan(lan, seconds)
    )
    await server.start()
    if six:
        await Advertiser(f"lan{lan}", Advertisement.of(mac(lan), f"fd00:91:{lan}::/64", 1500)).start()
    print("serves", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("lan", type=int)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--six", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.lan, arguments.seconds, arguments.six))
