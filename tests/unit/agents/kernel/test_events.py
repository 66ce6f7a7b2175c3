"""The kernel notifications that matter."""

import struct

from agents.kernel.events import matters

OWN, OTHER = 4711, 815
NEWLINK, NEWNEIGH = 16, 28


def message(kind: int, port: int, body: bytes = b"\0" * 16) -> bytes:
    text = struct.pack("=IHHII", 16 + len(body), kind, 0, 1, port) + body
    return text + b"\0" * (-len(text) % 4)


def neighbour(lladdr: bytes) -> bytes:
    return b"\7" + b"\0" * 11 + struct.pack("=HH", 10, 2) + lladdr + b"\0\0"


def test_changes_by_others_matter_and_own_ones_do_not() -> None:
    assert matters(message(NEWLINK, OTHER), OWN)
    assert not matters(message(NEWLINK, OWN), OWN)
    assert matters(message(NEWLINK, OWN) + message(NEWLINK, OTHER), OWN)


def test_of_neighbours_only_flood_entries_matter() -> None:
    assert matters(message(NEWNEIGH, OTHER, neighbour(bytes(6))), OWN)
    assert not matters(message(NEWNEIGH, OTHER, neighbour(b"\x02\0\0\0\0\x01")), OWN)


def test_what_is_not_a_message_counts_as_a_change() -> None:
    assert matters(struct.pack("=IHHII", 3, 0, 0, 0, 0), OWN)
    assert not matters(b"", OWN)
