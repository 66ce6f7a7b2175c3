"""A real bridge's forwarding database: the agent queries it when it has missed notifications."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from agents.mac_moves import MacMoves
from agents.mac_moves.notifications import FdbEntry, look_up
from tests.integration.agent_namespaces import Namespace, cable, namespaces, speak, wait_for
from tests.unit.agents.desires import desired, endpoint

pytestmark = pytest.mark.lab

NEWCOMER, MADE_UP = "02:00:5e:00:00:01", "02:bd:00:00:00:00"


class Lan:
    """A bridge with a port for a host that floods it, and one for a host that does not."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.bad, self.good = spaces
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.bad, "md1"), (self.good, "md2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")

    def flood(self) -> None:
        """Send far more MACs in a row than a socket's buffer holds, and then the newcomer's MAC."""
        speak(self.bad, *(f"02:bd:00:00:{n >> 8:02x}:{n & 255:02x}" for n in range(5000)))
        speak(self.good, NEWCOMER)
        wait_for("the newcomer is on the bridge", lambda: NEWCOMER in self.gate.run("bridge fdb show br lan1"))


@pytest.fixture
def lan() -> Iterator[Lan]:
    with namespaces("gate", "bad", "good") as spaces:
        yield Lan(spaces)


@pytest.mark.smoke
async def test_a_newcomer_of_whom_the_word_was_lost_in_a_flood_is_asked_for(lan: Lan) -> None:
    asked = []

    def ask(bridge: int, mac: str) -> FdbEntry | None:
        asked.append(mac)
        return look_up(bridge, mac)

    with lan.gate.entered():
        moves = MacMoves(lambda: None, ask=ask)
        moves.intend(desired(endpoint(1)))
        following = asyncio.create_task(moves.run())
        await asyncio.sleep(0.1)
        lan.flood()
        await asyncio.sleep(0.5)
        assert moves.port_of("e1", MADE_UP) == "md1" and asked == [], "the first of the flood were told"
        assert moves.port_of("e1", NEWCOMER) == "md2" and asked == [NEWCOMER], "its word was lost"
        assert moves.port_of("e1", "02:5e:5e:00:00:02") is None, "nobody has heard of it"
        following.cancel()


def test_what_is_no_bridge_has_no_macs(lan: Lan) -> None:
    with lan.gate.entered():
        assert look_up(socket.if_nametoindex("lo"), NEWCOMER) is None and look_up(999, NEWCOMER) is None
