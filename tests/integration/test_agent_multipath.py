"""The kernel's own Multipath TCP joins a VM's new address, and the agent sees it."""

import asyncio
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from agents.multipath import Watch
from agents.multipath.segment import Address
from tests.integration.multipath_net import Net, Stream, net

pytestmark = pytest.mark.lab

OLD, NEW, DEVICE = (ip_address(text) for text in ("10.1.0.5", "10.2.0.5", "10.2.0.4"))


@pytest.fixture
def place() -> Iterator[Net]:
    with net() as made:
        yield made


def moved(place: Net) -> None:
    """Move VM and device to cloudlet 2; the VM has only its old address."""
    place.walk(2)
    place.migrate(2)


def watching(place: Net, peer: Address | None) -> Watch:
    with place.gate.entered():
        return Watch("lan2", NEW, peer)


def second_address(place: Net, kind: str) -> None:
    place.gate.run("ip link set vmb up")
    place.vm.run(f"ip addr add {NEW}/24 dev eth1")
    place.vm.run("ip rule add from 10.2.0.5 lookup 2")
    place.vm.run("ip route add 10.2.0.0/24 dev eth1 table 2")
    place.vm.run(f"ip mptcp endpoint add {NEW} dev eth1 {kind}")


@pytest.mark.smoke
async def test_a_device_that_joins_is_seen(place: Net) -> None:
    moved(place)
    with watching(place, DEVICE) as watch:
        stream = await asyncio.to_thread(Stream, place)
        await asyncio.to_thread(stream.flows)
        assert not watch.joined
        second_address(place, "signal")
        async with asyncio.timeout(5):
            joined = await watch.wait()
        assert joined.initiator.address == DEVICE and joined.acceptor.address == NEW
        assert place.counters(place.vm)["MPJoinAckRx"] == len(watch.joined) == 1
        assert f"token:{joined.token:x} " in place.vm.run("ss -Mni")
    await asyncio.to_thread(stream.end)
    assert stream.error is None


async def test_a_vm_that_joins_by_itself_is_seen(place: Net) -> None:
    moved(place)
    with watching(place, None) as watch:
        stream = await asyncio.to_thread(Stream, place, str(DEVICE), ends=(place.vm, place.device))
        await asyncio.to_thread(stream.flows)
        second_address(place, "subflow")
        async with asyncio.timeout(5):
            joined = await watch.wait()
        assert joined.initiator.address == NEW and joined.acceptor.address == DEVICE
    await asyncio.to_thread(stream.end)
