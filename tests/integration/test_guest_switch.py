"""The agent's switch and the real guest package together: in a namespace, and in a booted guest."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ipaddress import ip_address
from pathlib import Path
from subprocess import Popen
from threading import Lock
from typing import cast

import pytest

from agents.hypervisors.hypervisor import Hypervisor, HypervisorError
from agents.multipath import Multipath, Watch
from agents.multipath.segment import Address
from controller.wire.machines import Nic
from controller.wire.moves import Act, Addresses, Figures, Order
from lab import netns, work
from lab.errors import LabError
from lab.guests.build import build
from lab.patience import until
from tests.integration import guest_lan
from tests.integration.agent_namespaces import Namespace
from tests.integration.guest_lan import DEVICE, DEVICE_ADDRESS, LANS
from tests.integration.guest_places import VM, Booted, Place, Space
from tests.integration.multipath_guest import MACHINE
from tests.integration.test_guest_package import clear

pytestmark = pytest.mark.lab
ACTS: tuple[Act, ...] = ("activate", "join", "leave")


class Adapter:
    """A place of the guest package's tests as a hypervisor. No machine moves, so nothing must be announced. It handles
    one question at a time, and answers a question even when its caller no longer waits."""

    def __init__(self, place: Place) -> None:
        self._place, self._asking = place, Lock()

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        await asyncio.to_thread(self._place.cable, nic, up)

    async def announce(self, name: str) -> None:
        await asyncio.sleep(0)

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        try:
            return await asyncio.to_thread(self._run, program, *arguments)
        except LabError as error:
            raise HypervisorError(str(error)) from None

    def _run(self, program: str, *arguments: str) -> str:
        with self._asking:
            if program == "weft-guest":
                return json.dumps(self._place.run(*arguments))
            if isinstance(self._place, Booted):
                return self._place.guest.run(program, *arguments)
            return netns.execute(VM, [program, *arguments], check=True).stdout


@pytest.fixture
def lans() -> Iterator[list[Popen[bytes]]]:
    """Yield the processes of the LANs, and end them afterwards."""
    build()
    with guest_lan.alone():
        clear()
        started = guest_lan.up(600, six=True)
        try:
            yield started
        finally:
            clear()
            for process in started:
                process.communicate()


@pytest.fixture
def place(request: pytest.FixtureRequest, lans: list[Popen[bytes]], tmp_path: Path) -> Iterator[Place]:
    if request.param == "namespace":
        yield Space(tmp_path, lans)
        return
    booted = Booted(tmp_path)
    try:
        yield booted
    finally:
        booted.guest.stop()


def order(act: Act, lan: int, serving: Nic) -> Order:
    old, new = guest_lan.address(3 - lan), guest_lan.address(lan)
    addresses = Addresses(old=old, new=new, device=DEVICE_ADDRESS, linger=0.2)
    return Order(
        move=f"to{lan}", number=1, act=act, machine=MACHINE, endpoint=f"lan{lan}", serving=serving, addresses=addresses
    )


async def to_and_fro(
    place: Place,
    multipath: Multipath,
    family: str,
    record: Path,
    directions: Sequence[tuple[int, Nic, Nic]],
    begin: Callable[[], None] = lambda: None,
    seen: Callable[[int], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Swap the vNICs in each of `directions` under a stream to the VM's `address` or `address6`. `begin` is called
    before the stream; `seen` is a context around each direction."""
    lans = Namespace("lans")
    lans.name = LANS
    at: Callable[[int], str] = getattr(guest_lan, family)
    switch = multipath.switch(cast(Hypervisor, Adapter(place)))
    await asyncio.to_thread(place.run, "up", "a", "20")
    await asyncio.to_thread(until, lambda: "1 received" in _ping(at(1)))
    await asyncio.sleep(0.5)
    begin()
    stream = work.Stream(DEVICE, at(1), record, down=1_000_000, up=200_000)
    try:
        await asyncio.to_thread(until, lambda: len(stream.series()) > 10)
        for lan, serving, new in directions:
            with lans.entered(), seen(lan):
                figures = [await getattr(switch, act)(order(act, lan, serving)) for act in ACTS]
            assert isinstance(figures[1], Figures) and figures[1].paths == 1
            state = await asyncio.to_thread(place.run, "state")
            assert state["serving"] == new and state["nics"][serving][family] is None
            assert state["nics"][new][family] == at(lan)
            assert (state["connections"], state["subflows"]) == (1, 1)
        verdict = await asyncio.to_thread(stream.verdict)
    finally:
        stream.kill()
        multipath.close()
    assert verdict.intact and verdict.mptcp


@pytest.mark.parametrize("place", ["namespace", "booted"], indirect=True)
async def test_to_and_fro(place: Place, tmp_path: Path) -> None:
    directions: list[tuple[int, Nic, Nic]] = [(2, "a", "b"), (1, "b", "a"), (2, "a", "b")]
    await to_and_fro(place, Multipath(lambda endpoint: endpoint), "address", tmp_path / "series", directions)


def goes_with(address: Address) -> Address | None:
    """Return the address of the other family, as the agent derives it from the LANs' prefixes."""
    octets = address.packed
    return ip_address(f"fd00:91:{octets[2]}::{octets[3]}") if address.version == 4 else None


@pytest.mark.parametrize("place", ["namespace", "booted"], indirect=True)
async def test_to_and_fro_over_ipv6(place: Place, tmp_path: Path) -> None:
    """A device with IPv6 only joins the VM's new IPv6 address, and the agent sees it as it does over IPv4."""

    def begin() -> None:
        netns.configure(DEVICE, sysctl={}, ip=["addr del 10.91.9.2/24 dev eth0"])

    @contextmanager
    def seen(lan: int) -> Iterator[None]:
        with Watch(f"lan{lan}", ip_address(guest_lan.address6(lan)), None) as watch:
            yield
            assert {str(joined.initiator.address) for joined in watch.joined} == {guest_lan.DEVICE_ADDRESS6}

    multipath = Multipath(lambda endpoint: endpoint, address6=goes_with)
    directions: list[tuple[int, Nic, Nic]] = [(2, "a", "b"), (1, "b", "a")]
    await to_and_fro(place, multipath, "address6", tmp_path / "series", directions, begin, seen)


def _ping(address: str) -> str:
    return netns.execute(DEVICE, ["ping", "-n", "-c", "1", "-W", "0.3", address]).stdout
