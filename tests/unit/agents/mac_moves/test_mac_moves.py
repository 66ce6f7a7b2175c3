"""From the kernel's messages to findings about a LAN."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.mac_moves import MacMoves
from agents.mac_moves.notifications import FdbEntry, entries
from controller.wire.flavours import Flavour
from tests.unit.agents.desires import desired, endpoint, remote, vtep

MAC = "02:00:5e:00:00:01"
NAMES = {1: "lan1", 2: "md1-0", 3: "pw1.2", 4: "pw1.3", 5: "lan7", 6: "vx1"}


def message(mac: str = MAC, kind: int = 28, family: int = 7, state: int = 2, **attributes: bytes) -> bytes:
    """Return a message as the kernel sends it, in this machine's byte order."""
    numbers = {"dst": 1, "master": 9}
    parts = [(2, bytes.fromhex(mac.replace(":", ""))), *((numbers[key], value) for key, value in attributes.items())]
    body = struct.pack("=BxxxiHBB", family, 2, state, 0, 0)
    for number, value in parts:
        body += struct.pack("=HH", 4 + len(value), number) + value + bytes(-len(value) % 4)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


BRIDGE = struct.pack("=I", 1)


def test_a_bridge_says_where_a_mac_is() -> None:
    assert list(entries(message(master=BRIDGE))) == [FdbEntry(MAC, 2, 1, None)]
    assert list(entries(message(dst=bytes((192, 0, 2, 2))))) == [FdbEntry(MAC, 2, None, "192.0.2.2")]
    assert len(list(entries(message(master=BRIDGE) * 3))) == 3


def test_other_words_are_passed_over() -> None:
    others = [
        message(kind=29, master=BRIDGE),
        message(family=2, master=BRIDGE),
        message(state=0x80, master=BRIDGE),
        message(mac="01:00:5e:00:00:01", master=BRIDGE),
        message(mac="00:00:00:00:00:00", dst=bytes(4)),
        message(mac="02:00"),
        message(master=BRIDGE)[:30],
    ]
    assert [list(entries(other)) for other in others] == [[]] * len(others)


@given(st.binary(max_size=200))
def test_whatever_comes_raises_nothing(datagram: bytes) -> None:
    list(entries(datagram))
    list(entries(struct.pack("=IHHII", len(datagram) + 16, 28, 0, 0, 0) + datagram))


class Moves:
    """The MAC moves of a cloudlet, with a simulated clock."""

    def __init__(self, flavour: Flavour = Flavour.VPLS) -> None:
        self.now, self.changed = 0.0, 0
        self.database: dict[str, FdbEntry] = {}
        self.asked: list[tuple[int, str]] = []
        self.moves = MacMoves(self._count, lambda: self.now, self._name, self._index, self._ask)
        self.desired = desired(
            endpoint(1, flavour=flavour, remotes=[remote(endpoint(n, flavour=flavour)) for n in (2, 3)])
        )
        self.moves.intend(self.desired)

    def _count(self) -> None:
        self.changed += 1

    def _name(self, index: int) -> str:
        if index not in NAMES:
            raise OSError("no such interface")
        return NAMES[index]

    def _index(self, name: str) -> int:
        found = [index for index, known in NAMES.items() if known == name]
        if not found:
            raise OSError("no such interface")
        return found[0]

    def _ask(self, bridge: int, mac: str) -> FdbEntry | None:
        self.asked.append((bridge, mac))
        return self.database.get(mac)

    def found(self) -> list[str]:
        return [finding.found for finding in self.moves.findings()]


def flapping(moves: Moves, *entries: FdbEntry) -> None:
    for i in range(12):
        moves.moves.hear(entries[i % len(entries)])
        moves.now += 1


def test_a_port_and_a_pseudowire_are_named() -> None:
    moves = Moves()
    flapping(moves, FdbEntry(MAC, 2, 1, None), FdbEntry(MAC, 3, 1, None))
    assert moves.found() == ["port md1-0 and e2"] and moves.changed == 1
    moves.moves.intend(moves.desired)
    assert moves.found()
    moves.now += 1000
    moves.moves.lapse()
    assert moves.found() == [] and moves.changed == 2


def test_of_evpn_the_device_itself_tells_the_remote() -> None:
    moves = Moves(Flavour.EVPN)
    flapping(moves, FdbEntry(MAC, 6, 1, None), FdbEntry(MAC, 6, None, vtep(2)), FdbEntry(MAC, 2, 1, None))
    assert moves.found() == ["port md1-0 and e2"]


def test_a_pseudowires_own_database_says_nothing_new() -> None:
    moves = Moves()
    flapping(moves, FdbEntry(MAC, 3, None, vtep(2)), FdbEntry(MAC, 2, 1, None))
    assert moves.found() == []


def test_interfaces_that_are_gone_or_of_no_lan_are_passed_over() -> None:
    moves = Moves()
    flapping(
        moves,
        FdbEntry(MAC, 9, 1, None),
        FdbEntry(MAC, 3, 9, None),
        FdbEntry(MAC, 2, 5, None),
        FdbEntry(MAC, 2, None, None),
    )
    flapping(moves, FdbEntry(MAC, 2, 2, None), FdbEntry(MAC, 3, 2, None))
    assert moves.found() == []


def test_a_lan_that_is_gone_is_forgotten() -> None:
    moves = Moves()
    flapping(moves, FdbEntry(MAC, 3, 1, None), FdbEntry(MAC, 4, 1, None))
    assert moves.found() == ["e2 and e3"]
    moves.moves.intend(desired())
    assert moves.found() == []


def test_a_mac_of_which_the_kernels_word_was_lost_is_asked_for_once() -> None:
    moves = Moves()
    assert moves.moves.port_of("e1", MAC) is None
    moves.database[MAC] = FdbEntry(MAC, 2, 1, None)
    assert moves.moves.port_of("e1", MAC) == moves.moves.port_of("e1", MAC) == "md1-0"
    assert moves.asked == [(1, MAC)] * 2, "what is known is not asked for again"


def test_a_mac_that_was_pushed_out_is_found_again() -> None:
    moves = Moves()
    moves.database[MAC] = FdbEntry(MAC, 2, 1, None)
    moves.moves.hear(moves.database[MAC])
    for number in range(2000):
        moves.moves.hear(FdbEntry(f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}", 2, 1, None))
    assert moves.moves.port_of("e1", MAC) == "md1-0" and moves.asked == [(1, MAC)]


def test_there_is_no_asking_for_a_lan_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = Moves()
    assert moves.moves.port_of("e4", MAC) is None, "of no endpoint here"
    monkeypatch.delitem(NAMES, 1)
    assert moves.moves.port_of("e1", MAC) is None and moves.asked == [], "its bridge is gone"
