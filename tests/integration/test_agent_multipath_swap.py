"""The whole swap under traffic, in both directions: no octet is wrong and no connection is lost, even with restarts."""

import asyncio
import itertools
import socket
from collections.abc import Iterator

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from agents.multipath import Multipath, NotJoined
from controller.wire.machines import Nic
from controller.wire.moves import Figures
from tests.integration.multipath_guest import Machines, order
from tests.integration.multipath_net import BLOCK, Net, Stream, net

pytestmark = pytest.mark.lab


@pytest.fixture
def place() -> Iterator[Net]:
    with net() as made:
        yield made


def agent(place: Net, seconds: float = 10.0) -> Multipath:
    """Return a new agent's part, as after a restart. Its watches open their sockets at the gate."""
    return Multipath(lambda endpoint: {"c1-lan": "lan1", "c2-lan": "lan2"}.get(endpoint), seconds=seconds)


async def swap(place: Net, machines: Machines, to: int, serving: Nic, restarted: bool = False) -> None:
    """Activate, join and leave at the cloudlet where device and VM already are."""
    multipath = agent(place)
    try:
        for act in ("activate", "join", "leave"):
            with place.gate.entered():
                switch = multipath.switch(machines.hypervisor)
                await getattr(switch, act)(order(act, to, serving))
            if restarted:
                multipath.close()
                multipath = agent(place)
    finally:
        multipath.close()


@pytest.mark.parametrize("restarted", [False, True])
async def test_to_and_fro_under_traffic(place: Net, restarted: bool) -> None:
    machines = Machines(place)
    streams = [await asyncio.to_thread(Stream, place) for _ in range(2)]
    serving: Nic = "a"
    for to in itertools.islice(itertools.cycle((2, 1)), 6):
        place.walk(to, joins=True)
        for stream in streams:
            await asyncio.to_thread(stream.flows)
        place.migrate(to)
        machines.at = to
        await swap(place, machines, to, serving, restarted)
        for stream in streams:
            await asyncio.to_thread(stream.flows)
        serving = "b" if serving == "a" else "a"
        shown = place.vm.run("ip -o -4 addr show scope global")
        assert f"10.{to}.0.5" in shown and f"10.{3 - to}.0.5" not in shown
        subflows = place.vm.run("ss -HOtni state established")
        assert f"10.{3 - to}.0.5" not in subflows and subflows.count(f"10.{to}.0.5") == 2
    for stream in streams:
        await asyncio.to_thread(stream.end)
        assert stream.error is None


async def test_a_connection_without_mptcp_lives_as_long_as_the_old_address(
    place: Net, caplog: pytest.LogCaptureFixture
) -> None:
    machines, stream = Machines(place), await asyncio.to_thread(Stream, place)
    place.walk(2, joins=True)
    plain = await asyncio.to_thread(Stream, place, protocol=socket.IPPROTO_TCP)
    place.migrate(2)
    machines.at = 2
    multipath = agent(place)
    try:
        with place.gate.entered():
            switch = multipath.switch(machines.hypervisor)
            await switch.activate(order("activate", 2, "a"))
            await switch.join(order("join", 2, "a"))
        leaving = asyncio.create_task(switch.leave(order("leave", 2, "a", linger=4)))
        await asyncio.sleep(2.5)
        for each in (plain, stream):
            await asyncio.to_thread(each.flows)
        assert not leaving.done()
        await leaving
    finally:
        multipath.close()
    assert "1 connections of vm1 end with 10.1.0.5" in caplog.text
    before = plain.octets
    await asyncio.to_thread(stream.flows)
    assert plain.octets - before <= BLOCK
    await asyncio.to_thread(stream.end)
    assert stream.error is None


@pytest.mark.smoke
async def test_the_old_address_goes_with_its_last_connection(place: Net) -> None:
    """If all connections are without Multipath TCP, the agent waits for no join, and the connections run to their
    end."""
    machines = Machines(place)
    place.walk(2)
    plain = await asyncio.to_thread(Stream, place, protocol=socket.IPPROTO_TCP)
    place.migrate(2)
    machines.at = 2
    await asyncio.to_thread(plain.flows)
    multipath, loop = agent(place), asyncio.get_running_loop()
    try:
        with place.gate.entered():
            switch = multipath.switch(machines.hypervisor)
            await switch.activate(order("activate", 2, "a"))
            began = loop.time()
            assert (await switch.join(order("join", 2, "a"))).paths is None
            assert loop.time() - began < 8
        leaving = asyncio.create_task(switch.leave(order("leave", 2, "a", linger=600)))
        await asyncio.sleep(3)
        await asyncio.to_thread(plain.flows)
        assert not leaving.done() and "10.1.0.5" in place.vm.run("ip addr show eth0")
        await asyncio.to_thread(plain.end)
        async with asyncio.timeout(20):
            await leaving
    finally:
        multipath.close()
    assert plain.error is None
    assert "10.1.0.5" not in place.vm.run("ip addr show eth0")


async def moved(place: Net, machines: Machines) -> Stream:
    """Move device and VM to cloudlet 2; return a stream that continues under the old address."""
    stream = await asyncio.to_thread(Stream, place)
    place.walk(2, joins=True)
    place.migrate(2)
    machines.at = 2
    await asyncio.to_thread(stream.flows)
    return stream


async def test_one_that_takes_no_further_path_stays_on_the_old_address(place: Net) -> None:
    """The device is in single-path mode and already at its new place: it hears of the new address, and does nothing."""
    place.device.run("ip mptcp limits set subflows 1 add_addr_accepted 0")
    machines = Machines(place)
    stream = await moved(place, machines)
    multipath = agent(place, seconds=2)
    with place.gate.entered():
        switch = multipath.switch(machines.hypervisor)
        await switch.activate(order("activate", 2, "a"))
        began = asyncio.get_running_loop().time()
        with pytest.raises(
            NotJoined, match=r"10\.2\.0\.5 was not joined in 2 s: nobody asked to; 10\.1\.0\.5 has 1 conn"
        ):
            await switch.join(order("join", 2, "a"))
    assert asyncio.get_running_loop().time() - began < 4
    await asyncio.to_thread(stream.flows)
    multipath.close()
    await asyncio.to_thread(stream.end)
    assert stream.error is None


async def test_the_wire_is_enough_where_the_guest_is_silent(place: Net) -> None:
    machines = Machines(place)
    stream = await moved(place, machines)
    multipath = agent(place)
    with place.gate.entered():
        switch = multipath.switch(machines.hypervisor)
        await switch.activate(order("activate", 2, "a"))
        machines.deaf = True
        assert (await switch.join(order("join", 2, "a"))).paths == 1
        with pytest.raises(HypervisorError, match="nobody in the guest"):
            await switch.leave(order("leave", 2, "a"))
    multipath.close()
    await asyncio.to_thread(stream.flows)
    await asyncio.to_thread(stream.end)
    assert stream.error is None


async def test_the_guest_is_enough_where_the_wire_cannot_be_watched(place: Net) -> None:
    machines = Machines(place)
    stream = await moved(place, machines)
    multipath = Multipath(lambda endpoint: None)
    switch = multipath.switch(machines.hypervisor)
    await switch.activate(order("activate", 2, "a"))
    assert (await switch.join(order("join", 2, "a"))).paths == 1
    await asyncio.to_thread(stream.end)


async def test_nobody_there_to_join_is_no_failure(place: Net) -> None:
    machines = Machines(place)
    place.walk(2)
    place.migrate(2)
    machines.at = 2
    with place.gate.entered():
        await swap(place, machines, 2, "a")
    assert "10.1.0.5" not in place.vm.run("ip addr")


async def test_an_address_left_from_elsewhere_is_given_up_for_the_new_one(place: Net) -> None:
    """The join of an earlier move failed at a cloudlet 3, and vNIC b has kept the address from there."""
    machines = Machines(place)
    machines.at = 3
    await machines.link("vm1", "b", True)
    await machines.guest("vm1", "weft-guest", "up", "b")
    stream = await moved(place, machines)
    await swap(place, machines, 2, "a")
    assert "10.2.0.5" in place.vm.run("ip addr show eth1")
    await asyncio.to_thread(stream.end)
    assert stream.error is None


async def test_another_address_than_planned_is_told(place: Net) -> None:
    machines = Machines(place)
    machines.at = 3
    multipath = Multipath(lambda endpoint: None)
    switch = multipath.switch(machines.hypervisor)
    with pytest.raises(HypervisorError, match=r"vNIC b has got 10\.3\.0\.5, and the plan says 10\.2\.0\.5"):
        await switch.activate(order("activate", 2, "a"))
    with pytest.raises(HypervisorError, match=r"vNIC b has not got 10\.2\.0\.5"):
        await switch.leave(order("leave", 2, "a"))
    assert "10.1.0.5" in place.vm.run("ip addr show eth0") and "backup" not in place.vm.run("ip mptcp endpoint")


async def test_a_kept_address_is_announced_and_nothing_else(place: Net) -> None:
    machines = Machines(place)
    place.walk(2)
    place.migrate(2)
    with place.gate.packets("lan1") as ear:
        switch = agent(place).switch(machines.hypervisor)
        kept = order("activate", 2, "a", new=None)
        await switch.activate(kept)
        assert await switch.join(kept) == Figures()
        await switch.leave(kept)
        heard = list(iter(lambda: _next(ear), b""))
    assert sum(frame[12:14] == b"\x08\x06" for frame in heard) >= 5
    assert machines.asked == ["weft-guest hold a"]
    assert "vmb" not in place.gate.run("ip -br link show up")
    stream = await asyncio.to_thread(Stream, place)
    await asyncio.to_thread(stream.flows)
    await asyncio.to_thread(stream.end)
    assert stream.error is None


def _next(ear: socket.socket) -> bytes:
    try:
        return ear.recv(2048)
    except BlockingIOError:
        return b""
