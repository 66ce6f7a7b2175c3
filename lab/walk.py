"""A device that walks: out of one cloudlet's LAN and into another's."""

import time

from lab import netns
from lab.errors import LabError
from lab.region import Region


def plug(region: Region, device: str, cloudlet: str) -> None:
    """The device's wire, out of wherever it is and into a port of the cloudlet's first LAN. It keeps its MAC."""
    there = region.namespace(device)
    address = region.execute(device, ["cat", "/sys/class/net/eth0/address"], check=True).stdout.strip()
    region.execute(device, ["ip", "link", "del", "eth0"], check=True)
    netns.cables([((there, "eth0"), (netns.PREFIX + cloudlet, f"l1-{device}"))])
    region.execute(cloudlet, ["ip", "link", "set", f"l1-{device}", "up"], check=True)
    for words in ("address " + address, "up"):
        region.execute(device, ["ip", "link", "set", "eth0", *words.split()], check=True)


def lose(region: Region, device: str) -> None:
    """The device is out of reach of any cloudlet."""
    for client in (f"{device}-dhcp", f"{device}-dhcp6"):
        if client in region.processes:
            region.processes[client].kill()
    region.execute(device, ["ip", "link", "set", "eth0", "down"], check=True)


def walk(region: Region, device: str, cloudlet: str) -> None:
    """The device loses its link, comes back at the cloudlet, and asks for an address there."""
    lose(region, device)
    plug(region, device, cloudlet)
    region.processes[f"{device}-dhcp"].start()


def take_connections_along(region: Region, device: str, before: str, seconds: float = 20) -> str:
    """The device's kernel makes subflows of its MPTCP connections from the address that it has got, and says that it
    has the one `before` no more (RFC 8684, section 3.4.2). Returns the new one."""
    deadline = time.monotonic() + seconds
    while not (address := _address(region, device)):
        if time.monotonic() > deadline:
            raise LabError(f"{device} has no address after {seconds:g} s")
        time.sleep(0.05)
    region.execute(device, ["ip", "mptcp", "endpoint", "flush"], check=True)
    region.execute(
        device, ["ip", "mptcp", "endpoint", "add", address, "dev", "eth0", "subflow", "fullmesh"], check=True
    )
    # That the old address is gone can only be said over a subflow from the new one.
    subflows = ["ss", "-Htn", "state", "established", "src", address]
    while not region.execute(device, subflows, check=True).stdout:
        if time.monotonic() > deadline:
            raise LabError(f"{device} has no subflow from {address} after {seconds:g} s")
        time.sleep(0.05)
    # Nobody acknowledges that, so it is said more than once: whoever missed it would announce itself on a dead path.
    for _ in range(3):
        region.execute(device, ["ip", "mptcp", "endpoint", "delete", "id", "0", before], check=True)
        time.sleep(0.2)
    return address


def _address(region: Region, device: str) -> str:
    words = region.execute(device, ["ip", "-4", "-br", "addr", "show", "dev", "eth0"], check=True).stdout.split()
    return words[2].split("/")[0] if len(words) > 2 else ""
