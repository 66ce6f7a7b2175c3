"""Paasch's three modes of a device (full, backup, single path) while the VM's vNICs are swapped, with the kernel's own
Multipath TCP: the agent sees the join, no octet is wrong, and the data uses the subflow of that mode."""

import asyncio
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

import pytest

from agents.multipath import Multipath, Watch
from controller.wire.moves import Figures
from tests.integration.agent_namespaces import Namespace, cable, wait_for
from tests.integration.multipath_guest import Machines, order
from tests.integration.multipath_net import BLOCK, Net, Stream, net

pytestmark = pytest.mark.lab

Mode = Literal["full", "backup", "single"]
OLD, NEW, DEVICE, CELL = "10.1.0.5", "10.2.0.5", "10.2.0.4", "10.9.0.4"
_END = r"(\d[\d.]*)(?:%\w+)?:\d+\s"
_SUBFLOW = re.compile(rf"{_END}+{_END}(?:.*?\bbytes_sent:(\d+))?")


@dataclass(frozen=True)
class Place:
    """The network with a device in `mode`; the stream began at cloudlet 1."""

    mode: Mode
    net: Net
    machines: Machines
    stream: Stream


@contextmanager
def at_home(mode: Mode, cell: bool = False) -> Iterator[Place]:
    with net() as made:
        if mode == "single":
            made.device.run("sysctl -qw net.mptcp.pm_type=1")
        if cell:
            _cell(made)
            made.device.run(f"ip mptcp endpoint add {CELL} dev eth1 subflow fullmesh{_flag(mode)}")
        machines, stream = Machines(made), Stream(made)
        stream.flows()
        yield Place(mode, made, machines, stream)
        stream.end()
        assert stream.error is None


def _flag(mode: Mode) -> str:
    return " backup" if mode == "backup" else ""


def _cell(made: Net) -> None:
    """Give the device a second radio, which reaches everything from everywhere."""
    cable(made.gate, "cell0", made.device, "eth1")
    made.gate.run("ip addr add 10.9.0.1/24 dev cell0")
    made.device.run(f"ip addr add {CELL}/24 dev eth1")
    made.device.run(f"ip rule add from {CELL} lookup 9")
    made.device.run("ip route add default via 10.9.0.1 dev eth1 table 9")


def sent(space: Namespace) -> dict[tuple[str, str], int]:
    """Return the octets of TCP that each subflow has sent so far, by its own address and its peer's."""
    lines = [line for line in space.run("ss -HOtni state established").splitlines() if "tcp-ulp-mptcp" in line]
    return {(found[1], found[2]): int(found[3] or 0) for line in lines if (found := _SUBFLOW.search(line))}


def carry(place: Place) -> set[tuple[str, str]]:
    """Return the subflows that carry data now, as (VM's address, device's address), in either direction. Handshakes,
    acknowledgments and a few retransmitted octets do not count."""
    before = sent(place.net.vm), sent(place.net.device)
    place.stream.flows(40 * BLOCK)
    after = sent(place.net.vm), sent(place.net.device)
    there = {ends for ends, octets in after[0].items() if octets - before[0].get(ends, 0) > 4 * BLOCK}
    back = {ends[::-1] for ends, octets in after[1].items() if octets - before[1].get(ends, 0) > 4 * BLOCK}
    return there | back


async def walks(place: Place) -> None:
    """Move the device to cloudlet 2, where it comes back after a lost link, and a little later move the VM there."""
    if place.mode == "single":
        place.net.walk(2)
        assert await alone(place, OLD) == "1 connections have moved\n"
    else:
        place.net.walk(2)
        take_along(place)
    await asyncio.to_thread(place.stream.flows)
    place.net.migrate(2)
    place.machines.at = 2


def take_along(place: Place) -> None:
    """Configure the device's path manager for a new place (docs/network/multipath.md)."""
    device = place.net.device
    device.run(f"ip mptcp endpoint add {DEVICE} dev eth0 subflow fullmesh{_flag(place.mode)}")
    wait_for("a subflow from the new place", lambda: (DEVICE, OLD) in sent(device))
    device.run("ip mptcp endpoint delete id 0 10.1.0.4", check=False)


async def alone(place: Place, address: str) -> str:
    """Make a single-path device open its next subflow by itself and close the earlier one."""
    program = f"{sys.executable} -m lab.device {DEVICE} {address} 15"
    return await asyncio.to_thread(place.net.device.run, program)


@contextmanager
def hanging(net: Net) -> Iterator[None]:
    """Keep a connection without Multipath TCP open during the block, for which the VM keeps its old address."""
    with net.vm.entered():
        server = socket.create_server((OLD, 0))
    with net.device.entered():
        client = socket.create_connection(server.getsockname(), timeout=5)
    with server, client:
        yield


async def swap(place: Place) -> tuple[Figures, set[tuple[str, str]]]:
    """Activate, join, leave. Returns the figures of the join, and the subflows that carry data while the old address
    stays."""
    multipath = Multipath({"c2-lan": "lan2"}.get, seconds=15)
    device = asyncio.create_task(alone(place, NEW)) if place.mode == "single" else None
    try:
        with place.net.gate.entered():
            switch = multipath.switch(place.machines.hypervisor)
            await switch.activate(order("activate", 2, "a"))
            figures = await switch.join(order("join", 2, "a"))
        if device is not None:
            assert await device == "1 connections have moved\n"
        with hanging(place.net):
            leaving = asyncio.create_task(switch.leave(order("leave", 2, "a", linger=60)))
            await asyncio.sleep(2)
            lingering = await asyncio.to_thread(carry, place)
            assert not leaving.done()
        async with asyncio.timeout(20):
            await leaving
    finally:
        multipath.close()
    return figures, lingering


@pytest.mark.parametrize("mode", ["full", "backup", "single"])
async def test_each_mode_through_the_swap(mode: Mode) -> None:
    """With one radio, a full or backup device joins beside the old address; a single-path device joins, and has left
    the old address before `leave`."""
    with at_home(mode) as place:
        await walks(place)
        with place.net.gate.entered():
            watch = Watch("lan2", ip_address(NEW), None)
        with watch:
            figures, lingering = await swap(place)
            assert [joined.backup for joined in watch.joined] == [mode == "backup"]
        assert figures.paths == 1
        old, new = (OLD, DEVICE), (NEW, DEVICE)
        assert lingering == {new} or (mode == "backup" and lingering <= {old, new})
        assert await asyncio.to_thread(carry, place) == {new}
        assert set(sent(place.net.vm)) == {new}


async def test_a_single_path_is_one_subflow_at_a_time() -> None:
    with at_home("single") as place:
        seen: list[int] = []

        async def look() -> None:
            while True:
                seen.append(len(await asyncio.to_thread(sent, place.net.device)))
                await asyncio.sleep(0.05)

        looking = asyncio.create_task(look())
        await walks(place)
        await swap(place)
        looking.cancel()
        assert max(seen) <= 2, "two for as long as the new one's handshake and the old one's end take"
        assert seen.count(2) < len(seen) / 4


@pytest.mark.parametrize("mode", ["full", "backup"])
async def test_a_second_radio_carries_while_the_first_is_gone(mode: Mode) -> None:
    """A backup device uses the second radio only in the gap; a full device uses it all the time."""
    with at_home(mode, cell=True) as place:
        wait_for("both radios are joined", lambda: len(sent(place.net.device)) == 2)
        if mode == "backup":
            assert await asyncio.to_thread(carry, place) == {(OLD, "10.1.0.4")}
        place.net.gate.run("ip link set md0 down")
        await asyncio.to_thread(place.stream.flows)
        assert await asyncio.to_thread(carry, place) == {(OLD, CELL)}
        place.net.walk(2)
        take_along(Place("full", place.net, place.machines, place.stream))
        place.net.migrate(2)
        place.machines.at = 2
        # Either may carry data meanwhile: Linux sends MP_PRIO on one subflow of an address, and there are two.
        figures, _ = await swap(place)
        assert figures.paths == 1
        if mode == "backup":
            assert await asyncio.to_thread(carry, place) == {(NEW, DEVICE)}
        assert all(ends[0] == NEW for ends in sent(place.net.vm))
