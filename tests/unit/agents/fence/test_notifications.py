"""From netlink messages to transactions, and from transactions to gaps in the rules."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from agents.fence.watch import REMEMBERED, RuleWatch
from agents.nft import Nft
from agents.nft.notifications import Transaction, Transactions
from controller.wire.findings import Finding

NEW_TABLE, DELETED_TABLE, NEW_RULE, NEW_GENERATION = 0, 2, 6, 15


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def message(kind: int, *attributes: bytes) -> bytes:
    body = bytes(4) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), 10 << 8 | kind, 0, 0, 7) + body


def table(kind: int, name: str) -> bytes:
    return message(kind, attribute(1, name.encode() + b"\0"))


def end(generation: int, process: str = "nft") -> bytes:
    pid = attribute(2, struct.pack("!I", 99))
    return message(
        NEW_GENERATION, attribute(1, struct.pack("!I", generation)), pid, attribute(3, process.encode() + b"\0")
    )


FLUSH = table(DELETED_TABLE, "weft") + table(DELETED_TABLE, "others") + table(NEW_RULE, "theirs") + end(12)


@given(st.integers(0, 8))
def test_a_transaction_ends_with_its_generation_however_it_is_cut_into_datagrams(cut: int) -> None:
    parts = [table(DELETED_TABLE, "weft"), table(DELETED_TABLE, "others"), table(NEW_RULE, "theirs"), end(12), end(13)]
    reader = Transactions()
    found = [t for datagram in (b"".join(parts[:cut]), b"".join(parts[cut:])) for t in reader.feed(datagram)]
    removed = frozenset({"weft", "others"})
    assert found == [Transaction(12, removed, removed | {"theirs"}, "nft"), Transaction(13, process="nft")]


@given(st.binary(max_size=200))
def test_whatever_comes_is_no_error(datagram: bytes) -> None:
    list(Transactions().feed(datagram))
    list(Transactions().feed(FLUSH[: len(datagram)] + datagram))


async def test_only_what_others_do_to_our_tables_is_foreign() -> None:
    nft = Nft()
    theirs, ours = Transaction(5, touched=frozenset({"filter"})), Transaction(6, touched=frozenset({"weft-sources"}))
    assert await nft.heard([theirs, ours]) == [ours]


class Watched:
    """A watch with a clock that the test moves, and the number of its requests to load the rules again."""

    def __init__(self) -> None:
        self.now, self.taken = 100.0, 0
        self.watch = RuleWatch(Nft(), self._count, clock=lambda: self.now)

    def _count(self) -> None:
        self.taken += 1

    async def flush(self, waits: float = 0.0) -> None:
        """Flush the rules; the event loop handles the notification `waits` seconds later."""
        self.watch._heard(list(Transactions().feed(FLUSH)))
        self.now += waits
        await self.watch._look()

    def one(self) -> Finding:
        (finding,) = self.watch.findings()
        return finding


async def test_a_gap_is_told_with_its_length_for_a_while() -> None:
    run = Watched()
    await run.flush(waits=0.05)
    assert run.taken == 1 and (run.one().found, run.one().milliseconds) == ("gone", None)
    began = run.now
    run.now += 0.2
    run.watch.restored(began)
    run.now += 5
    run.watch.restored(run.now)
    assert run.one().milliseconds == 250, "from when it was heard of"
    assert run.one().found == "gone for 250 ms" and "nft took rules out of nftables (weft)" in run.one().text
    run.now += REMEMBERED + 1
    assert run.watch.findings() == []
    run.watch._heard(None)
    await run.watch._look()
    assert run.taken == 2 and run.watch.findings() == [], "messages were lost: whoever looks finds nothing gone"


async def test_a_pass_under_way_closes_no_gap() -> None:
    """The pass may have loaded its rules before the flush; the same holds for a pass before a second flush."""
    run = Watched()
    began = run.now
    run.now += 0.1
    await run.flush()
    run.now += 0.1
    run.watch.restored(began)
    assert run.one().found == "gone"
    began = run.now
    run.now += 0.1
    await run.flush()
    run.watch.restored(began)
    assert run.one().found == "gone"
    run.watch.restored(run.now)
    assert run.one().milliseconds == 200 and run.taken == 2
