"""Devices that walk out of one cloudlet's LAN and into another's."""

import time

from lab import netns
from lab.errors import LabError
from lab.region import Region


def plug(region: Region, device: str, cloudlet: str) -> None:
    """Move the device's wire from wherever it is to a port of the cloudlet's first LAN. The device keeps its MAC."""
    there = region.namespace(device)
    address = region.execute(device, ["cat", "/sys/class/net/eth0/address"], check=True).stdout.strip()
    region.execute(device, ["ip", "link", "del", "eth0"], check=True)
    netns.cables([((there, "eth0"), (netns.PREFIX + cloudlet, f"l1-{device}"))])
    region.execute(cloudlet, ["ip", "link", "set", f"l1-{device}", "up"], check=True)
    for words in ("address " + address, "up"):
        region.execute(device, ["ip", "link", "set", "eth0", *words.split()], check=True)


def lose(region: Region, device: str) -> None:
    """Take the device out of reach of any cloudlet."""
    for client in (f"{device}-dhcp", f"{device}-dhcp6"):
        if client in region.processes:
            region.processes[client].kill()
    region.execute(device, ["ip", "link", "set", "eth0", "down"], check=True)


def walk(region: Region, device: str, cloudlet: str) -> None:
    """Let the device lose its link, come back at the cloudlet, and ask for an address there."""
    lose(region, device)
    plug(region, device, cloudlet)
    region.processes[f"{device}-dhcp"].start()


def take_connections_along(region: Region, device: str, before: str, seconds: float = 20) -> str:
    """Let the device's kernel make subflows of its MPTCP connections from its new address, and announce that the
    address `before` is gone (RFC 8684, section 3.4.2). Return the new address."""
    deadline = time.monotonic() + seconds
    while not (address := _address(region, device)):
        if time.monotonic() > deadline:
            raise LabError(f"{device} has no address after {seconds:g} s")
        time.sleep(0.05)
    region.execute(device, ["ip", "mptcp", "endpoint", "flush"], check=True)
    region.execute(
        device, ["ip", "mptcp", "endpoint", "add", address, "dev", "eth0", "subflow", "fullmesh"], check=True
    )
    # The device can announce that the old address is gone only over a subflow from the new one.
    subflows = ["ss", "-Htn", "state", "established", "src", address]
    while not region.execute(device, subflows, check=True).stdout:
        if time.monotonic() > deadline:
            raise LabError(f"{device} has no subflow from {address} after {seconds:g} s")
        time.sleep(0.05)
    # Nobody acknowledges that, so it is sent more than once: a peer that missed it would go on using a dead path.
    for _ in range(3):
        region.execute(device, ["ip", "mptcp", "endpoint", "delete", "id", "0", before], check=True)
        time.sleep(0.2)
    return address


def _address(region: Region, device: str) -> str:
    words = region.execute(device, ["ip", "-4", "-br", "addr", "show", "dev", "eth0"], check=True).stdout.split()
    return words[2].split("/")[0] if len(words) > 2 else ""
