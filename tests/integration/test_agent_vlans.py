"""VLANs of a trunk as access ports of two LANs: real kernel, fences and tagged frames. If this machine's kernel has no
VLANs, the tests run in a guest under Debian's."""

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from agents.kernel.netlink import Kernel
from agents.kernel.vpls import Announcement
from agents.nft import Nft
from agents.reconcile import Outcome, Reconciler
from controller.wire.desired import Desired
from lab.debian_kernel.run import run
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for
from tests.unit.agents.desires import desired, endpoint

pytestmark = pytest.mark.lab

GUEST = 900.0  # seconds for all of them in the guest, whose processor is software
WANT = desired(endpoint(1, ports=["eth1.100", "near"]), endpoint(2, index=2, ports=["eth1.200"]))
TRIAL = "ip link add weft0 type veth && ip link add link weft0 name weft0.1 type vlan id 1"


def tagging() -> bool:
    """Return whether this machine's kernel has VLANs."""
    return subprocess.run(["unshare", "--net", "sh", "-c", TRIAL], capture_output=True, check=False).returncode == 0


class Nothing:
    """A PE that has heard no route."""

    table: Sequence[Announcement] = ()
    complete = True


class Cloudlet:
    """A PE whose interface eth1 is a trunk, a switch with VLANs at the trunk's other end (`far`), and a host at another
    port (`near`)."""

    def __init__(self, spaces: list[Namespace], reconciler: Reconciler, kernel: Kernel) -> None:
        self.pe, self.far, self.near = spaces
        self._reconciler, self.kernel = reconciler, kernel

    async def converge(self, want: Desired) -> Outcome:
        return await self._reconciler.converge(want, Nothing())

    def vlan(self, vid: int, address: str) -> None:
        """Give the far end an interface in a VLAN."""
        self.far.run(f"ip link add link eth0 name eth0.{vid} type vlan id {vid}")
        self.far.run(f"ip addr add {address}/24 dev eth0.{vid}")
        self.far.run(f"ip link set eth0.{vid} up")

    def pings(self, vid: int, address: str) -> bool:
        """Return whether an address answers in a VLAN."""
        words = ["ip", "netns", "exec", self.far.name, "ping", "-c3", "-i0.2", "-W2", "-I", f"eth0.{vid}", address]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


@asynccontextmanager
async def cloudlet() -> AsyncIterator[Cloudlet]:
    with namespaces("pe", "far", "near") as spaces:
        pe, far, near = spaces
        cable(pe, "eth1", far, "eth0")
        cable(pe, "near", near, "eth0")
        with pe.entered():
            async with Kernel() as kernel:
                await kernel.read()
                yield Cloudlet(spaces, Reconciler(kernel, Nft()), kernel)


def heard(raw: socket.socket) -> list[bytes]:
    """Return the frames that have come meanwhile."""
    found = []
    with suppress(BlockingIOError):
        while True:
            found.append(raw.recv(2048))
    return found


@pytest.fixture
def tagged() -> None:
    if not tagging():
        pytest.skip("this kernel has no VLANs; the test runs under Debian's")


async def test_two_lans_share_a_trunk(tagged: None) -> None:
    async with cloudlet() as one:
        assert (await one.converge(WANT)).problems == {1: [], 2: []}
        one.vlan(100, "10.1.0.9")
        one.vlan(200, "10.2.0.9")
        assert one.pings(100, "10.1.0.1") and one.pings(200, "10.2.0.1")
        with one.near.packets("eth0") as near, one.far.packets("eth0.200") as other:
            frame = b"\xff" * 6 + one.far.mac("eth0.100") + b"\x88\xb5" + b"in VLAN 100".ljust(46)
            with one.far.packets("eth0.100") as raw:
                raw.send(frame)
            wait_for("a frame of VLAN 100 in its LAN", lambda: frame in heard(near))
            assert frame not in heard(other)


async def test_a_vlan_comes_back_changes_its_lan_and_goes(tagged: None) -> None:
    async with cloudlet() as one:
        await one.converge(WANT)
        one.pe.run("ip link del eth1.100")
        assert not (await one.converge(WANT)).failed
        one.vlan(100, "10.1.0.9")
        assert one.pings(100, "10.1.0.1")
        other = desired(endpoint(1, ports=[]), endpoint(2, index=2, ports=["eth1.100", "eth1.200"]))
        assert not (await one.converge(other)).failed
        ports = (await one.kernel.read()).ports
        assert {name: port.bridge for name, port in ports.items() if port.made} == dict.fromkeys(
            ("eth1.100", "eth1.200"), "lan2"
        )
        await one.converge(desired())
        assert {"lo", "eth1", "near"} == set((await one.kernel.read()).ports)


async def test_a_vlan_that_somebody_else_made_stays(tagged: None) -> None:
    async with cloudlet() as one:
        one.pe.run("ip link add link eth1 name office type vlan id 100")
        one.pe.run("ip link add link eth1 name service type vlan id 200 protocol 802.1ad")
        await one.converge(WANT)
        ports = (await one.kernel.read()).ports
        assert (ports["office"].bridge, ports["service"].bridge, ports["eth1.200"].bridge) == ("lan1", None, "lan2")
        await one.converge(desired())
        ports = (await one.kernel.read()).ports
        assert ports["office"].bridge is None and "service" in ports and "eth1.200" not in ports


@pytest.mark.smoke
async def test_a_kernel_without_vlans_is_said_and_hurts_no_other_lan() -> None:
    """Loopback carries no VLAN under any kernel."""
    want = desired(endpoint(1, ports=["lo.100"]), endpoint(2, index=2, ports=["eth1"]))
    async with cloudlet() as one:
        outcome = await one.converge(want)
        assert outcome.failed and outcome.problems[1] == [
            "cannot add lo.100, VLAN 100 of lo, to lan1: "
            "the interface can have no VLAN, or the kernel lacks its module 8021q"
        ]
        assert outcome.problems[2] == [] and outcome.snapshot.ports["eth1"].bridge == "lan2"


def test_all_of_them_pass_under_debians_kernel() -> None:
    if tagging():
        pytest.skip("this kernel has VLANs by itself")
    own = ["-k", "not debians_kernel", "-p", "no:cacheprovider", "-q", "-rs"]
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    ended = run([sys.executable, "-m", "pytest", *own, __file__], environment | {"HOME": "/root"}, GUEST)
    assert ended.code == 0 and "skipped" not in ended.output, ended.output
