"""A real bridge beside somebody who makes up MACs: how many it learns, and who goes on."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.access import Access
from agents.fence import Fence, Nft, mac_limit, ruleset
from agents.fence.mac_limit import BURST, TABLE, TUNNEL
from agents.state import State
from controller.wire.access import AccessReport, Dropped
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for
from tests.unit.agents.desires import desired, endpoint

pytestmark = pytest.mark.lab

FENCE = Fence("lan1", "pw1.*", "10.1.0.0/24", ports=("md1", "md2"), learns=True)
NEWCOMER, OLD = "02:00:5e:00:00:01", "02:00:5e:00:00:02"
FLOOD = 30_000


class Lan:
    """A bridge with a port for somebody who floods it, one for somebody who does not, and a tunnel."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.bad, self.good, self.far = spaces
        self.nft = Nft()
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.bad, "md1"), (self.good, "md2"), (self.far, "pw1.2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")

    async def put(self, fence: Fence) -> None:
        with self.gate.entered():
            await self.nft.apply(ruleset([fence]) + mac_limit([fence]))

    async def dropped(self, reason: str) -> int:
        with self.gate.entered():
            counted = await self.nft.counters(TABLE)
        return next(one.packets for one in counted if one.reason == reason)

    def learned(self, port: str) -> set[str]:
        """Without the port's own."""
        lines = self.gate.run(f"bridge fdb show br lan1 brport {port}").splitlines()
        return {line.split()[0] for line in lines if "permanent" not in line}


def speak(space: Namespace, *macs: str) -> None:
    """A frame from each of them, as fast as the cable takes them."""
    with space.packets("eth0") as raw:
        raw.setblocking(True)
        for mac in macs:
            raw.send(b"\xff" * 6 + bytes.fromhex(mac.replace(":", "")) + b"\x88\xb5" + bytes(46))


def made_up(number: int, vendor: str = "02:bd:00") -> Iterator[str]:
    return (f"{vendor}:{n >> 16:02x}:{n >> 8 & 255:02x}:{n & 255:02x}" for n in range(number))


@contextmanager
def lan() -> Iterator[Lan]:
    with namespaces("gate", "bad", "good", "far") as spaces:
        yield Lan(spaces)


@pytest.mark.smoke
async def test_a_port_has_a_budget_of_macs_and_takes_none_of_another_ports() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, OLD)
        wait_for("the old one is known", lambda: OLD in net.learned("md1"))
        speak(net.bad, *made_up(FLOOD))
        learned, dropped = net.learned("md1"), await net.dropped("crowd-at")
        assert BURST <= len(learned) < BURST + 1000, "the burst, and some of the time that the flood took"
        assert dropped + len(learned) == FLOOD + 1
        speak(net.good, NEWCOMER)
        wait_for("another port has its own budget", lambda: NEWCOMER in net.learned("md2"))
        speak(net.bad, OLD)
        assert await net.dropped("crowd-at") == dropped, "it was known before the flood"


async def test_what_was_counted_outlives_a_change_of_the_fences_and_an_agent() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, *made_up(FLOOD))
        for fence in (Fence("lan1", "pw1.*", "10.1.0.0/24", ports=("md1",)), FENCE):
            net.nft = Nft()
            await net.put(fence)
            dropped = await net.dropped("crowd-at")
            speak(net.bad, *made_up(2000, "02:be:00"))
            assert await net.dropped("crowd-at") - dropped > 1500, "no new burst"
        assert len(net.learned("md1")) < BURST + 1000


async def test_a_tunnel_has_a_budget_where_the_bridge_learns_from_it() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.far, *made_up(FLOOD))
        assert TUNNEL * BURST <= len(net.learned("pw1.2")) < TUNNEL * BURST + 2000
        assert await net.dropped("crowd-in") > 0
    with lan() as net:
        await net.put(Fence("lan1", "pw1.*", "10.1.0.0/24", ports=("md1", "md2")))
        speak(net.far, *made_up(FLOOD))
        assert await net.dropped("crowd-in") == 0, "what it does not learn is bounded elsewhere"


class Told:
    """Takes reports."""

    def __init__(self) -> None:
        self.reports: asyncio.Queue[AccessReport] = asyncio.Queue()

    async def access(self, report: AccessReport) -> None:
        await self.reports.put(report)


async def test_the_controller_is_told_of_it(tmp_path: Path) -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, *made_up(FLOOD))
        speak(net.far, *made_up(FLOOD))
        at, out = await net.dropped("crowd-at"), await net.dropped("crowd-in")
        told = Told()
        access = Access("c1", State(tmp_path, "c1"), told)
        access.applied(desired(endpoint(1)))
        with net.gate.entered():
            running = asyncio.create_task(access.run())
            async with asyncio.timeout(30):
                report = await told.reports.get()
            running.cancel()
        assert report.dropped == [
            Dropped(endpoint="e1", what="crowd", packets=at),
            Dropped(endpoint="e1", what="crowd-in", packets=out),
        ]


async def test_without_fences_there_is_no_table() -> None:
    with lan() as net:
        await net.put(FENCE)
        with net.gate.entered():
            await net.nft.clear()
        assert "weft" not in net.gate.run("nft list tables")
