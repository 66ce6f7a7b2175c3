"""Break before make: LANs without a tunnel between them, and a device that computes the place of its VM."""

import asyncio
import sys
from collections.abc import Iterator

import pytest

from agents.multipath import Multipath
from controller.wire.moves import Act
from tests.integration.multipath_guest import Machines, order
from tests.integration.multipath_net import Net, Stream, net

pytestmark = pytest.mark.lab


@pytest.fixture
def place() -> Iterator[Net]:
    with net() as made:
        made.gate.run("ip link del pw1.2")
        made.device.run("sysctl -qw net.mptcp.pm_type=1")
        yield made


async def test_a_device_joins_by_itself_where_nobody_can_tell_it(place: Net) -> None:
    machines = Machines(place)
    stream = await asyncio.to_thread(Stream, place)
    await asyncio.to_thread(stream.flows)
    place.walk(2)
    place.migrate(2)
    machines.at = 2
    assert "0 received" in place.device.run("ping -c 1 -W 0.5 10.1.0.5", check=False), "the old address is lost"
    program = f"{sys.executable} -m lab.device 10.2.0.4 10.2.0.5 15"
    device = asyncio.create_task(asyncio.to_thread(place.device.run, program))
    multipath = Multipath({"c2-lan": "lan2"}.get, seconds=15)
    acts: tuple[Act, ...] = ("activate", "join")
    for act in acts:
        with place.gate.entered():
            switch = multipath.switch(machines.hypervisor)
            figures = await getattr(switch, act)(order(act, 2, "a"))
    assert figures.paths == 1
    assert await device == "1 connections have moved\n"
    await asyncio.to_thread(stream.flows)
    await switch.leave(order("leave", 2, "a"))
    await asyncio.to_thread(stream.flows)
    await asyncio.to_thread(stream.end)
    multipath.close()
    assert stream.error is None
    assert "10.1.0.5" not in place.device.run("ss -HOtn state established")
