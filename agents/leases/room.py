"""The blocks that an agent holds, and the pairs of them that are free for new devices."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from agents.leases.quarantine import Quarantine
from controller.wire.delegations import Block

OFFERED = 30.0
"""Seconds for which an offered pair is kept for its client."""

LOW = 8
"""Number of free pairs below which the agent asks for more blocks. An eighth of the pairs in use is added, and twice
the number of pairs that were taken between the last two exchanges."""

SPARE = 4
"""The agent gives a block back if this many times the low mark would still be free."""

Keep = Callable[[str, str, Any], None]

Key = tuple[str, str]
"""The receiver of an offer: a kind of name ("device", "id" or "mac"), and the name."""


class Room:
    """The blocks of one LAN. `keep` is called with the records that have to be on disk. A block that rests is not used
    or reported before a certain time. A block that was dropped is not used again and goes back to the controller. Pairs
    in `quarantine` are free for nobody."""

    def __init__(self, keep: Keep) -> None:
        self.blocks: dict[int, Block] = {}
        self.dropped: set[int] = set()
        self.without: list[tuple[int, int]] = []
        self.quarantine = Quarantine(keep)
        self._keep = keep
        self._resting: dict[int, float] = {}
        self._free: dict[int, None] = {}
        self._offers: OrderedDict[Key, tuple[int, float]] = OrderedDict()
        self._taken = self._pace = 0

    def restore(self, key: str, value: Any) -> None:
        """Take in a block from the journal."""
        block, until, dropped = value
        self.blocks[int(key)] = Block(**block)
        if until:
            self._resting[int(key)] = until
        if dropped:
            self.dropped.add(int(key))

    @property
    def held(self) -> list[int]:
        """The numbers of the blocks in use."""
        return [number for number in self.blocks if number not in self.dropped and number not in self._resting]

    @property
    def rests(self) -> bool:
        """Whether any block rests."""
        return bool(self._resting)

    def lies_in(self, number: int) -> bool:
        """Return whether a pair is in a block, in use or not."""
        return any(block.first <= number < block.first + block.pairs for block in self.blocks.values())

    @property
    def size(self) -> int:
        """Number of pairs in blocks in use."""
        return sum(self.blocks[number].pairs for number in self.held)

    @property
    def free(self) -> int:
        """Number of pairs that are free for new devices."""
        return len(self._free)

    def holds(self, number: int) -> bool:
        """Return whether a pair is in a block that is in use."""
        return any(b.first <= number < b.first + b.pairs for b in map(self.blocks.__getitem__, self.held))

    def add(self, blocks: Collection[Block], taken: Collection[int]) -> None:
        """Add blocks that the controller has given."""
        for block in blocks:
            self.blocks[block.number] = block
            self._resting.pop(block.number, None)
            self.dropped.discard(block.number)
            self._save(block.number)
        self._free |= self._count(blocks, taken)

    def rest(self, until: float, taken: Collection[int]) -> None:
        """Let all blocks rest until `until`: before that it is not certain which of their pairs are free."""
        self._offers.clear()
        for number in self.blocks:
            self._resting[number] = until
            self._save(number)
        self.count(taken)

    def wake(self, now: float, taken: Collection[int]) -> list[Block]:
        """End the rest of blocks whose time is over, and return these blocks."""
        over = [number for number, until in self._resting.items() if until <= now]
        for number in over:
            del self._resting[number]
            self._save(number)
        if over:
            self.count(taken)
        return [self.blocks[number] for number in over]

    def drop_resting(self) -> None:
        """Forget the blocks that rest: the controller already counts a newer incarnation, and lets them rest itself."""
        for number in self._resting:
            del self.blocks[number]
            self.dropped.discard(number)
            self._keep("block", str(number), None)
        self._resting.clear()

    def drop_spare(self, used: int) -> None:
        """Give up blocks that are not needed, the highest first, and only blocks of which every pair is free."""
        for number in sorted(self.held, reverse=True):
            block = self.blocks[number]
            if len(self._free) - block.pairs < SPARE * self._low(used):
                return
            if all(pair in self._free for pair in range(block.first, block.first + block.pairs)):
                self.dropped.add(number)
                for pair in range(block.first, block.first + block.pairs):
                    del self._free[pair]
                self._save(number)

    def gone(self, blocks: Collection[int]) -> None:
        """Forget blocks that the controller has taken back."""
        for number in blocks:
            if number in self.dropped:
                self.dropped.discard(number)
                del self.blocks[number]
                self._keep("block", str(number), None)

    def wanted(self, used: int) -> int:
        """Return the number of further blocks to ask for when `used` pairs are in use."""
        low = self._low(used)
        if len(self._free) >= low:
            return 0
        size = max((block.pairs for block in self.blocks.values()), default=LOW)
        return -(-(2 * low - len(self._free)) // size)

    def choose(self, whose: Sequence[Key], wanted: int | None, now: float) -> int | None:
        """Return a free pair and keep it for a while for the first of `whose`: the pair that any of them was offered
        before, the one that is wanted, or any. If all are offered, the pair of the oldest offer is offered again: an
        offer is no promise (RFC 2131, section 3.1), and otherwise a device could block all pairs just by asking."""
        while self._offers and next(iter(self._offers.values()))[1] <= now:
            self._free.setdefault(self._offers.popitem(last=False)[1][0])
        offered = next((key for key in whose if key in self._offers), None)
        number = self._offers.pop(offered)[0] if offered is not None else None
        if number is None:
            number = wanted if wanted in self._free else next(iter(self._free), None)
        if number is None and self._offers:
            number = self._offers.popitem(last=False)[1][0]
        if number is not None:
            self._free.pop(number, None)
            self._offers[whose[0]] = number, now + OFFERED
        return number

    def take(self, number: int, whose: Sequence[Key] = ()) -> None:
        """Note that a pair is taken: by one of `whose`, if it was offered to them."""
        self._taken += 1
        self._free.pop(number, None)
        for key in whose or list(self._offers):
            if key in self._offers and self._offers[key][0] == number:
                del self._offers[key]

    def count(self, taken: Collection[int]) -> None:
        """Find again which pairs are free for new devices; `taken` are the pairs that devices have."""
        self._free = self._count([self.blocks[key] for key in sorted(self.held)], taken)

    def _count(self, blocks: Collection[Block], taken: Collection[int]) -> dict[int, None]:
        offered = {number for number, _ in self._offers.values()}
        return {
            number: None
            for block in blocks
            for number in range(block.first, block.first + block.pairs)
            if number not in taken and number not in offered and not self._withheld(number)
        }

    def given_out(self) -> list[tuple[int, int]]:
        """Return the first and last numbers of pairs that only this agent gives out, block by block. The ranges in
        `without` are left out: other hosts use them."""
        return [part for key in sorted(self.held) for part in self._parts(self.blocks[key])]

    def _parts(self, block: Block) -> list[tuple[int, int]]:
        parts, low, end = [], block.first, block.first + block.pairs - 1
        for first, last in sorted(self.without):
            if low <= last and first <= end:
                parts += [(low, first - 1)] if low < first else []
                low = last + 1
        return [*parts, (low, end)] if low <= end else parts

    def _withheld(self, number: int) -> bool:
        return self.quarantine.withholds(number) or any(first <= number <= last for first, last in self.without)

    def mark(self) -> None:
        """Note that an exchange begins: count the pairs that are taken from now on until the next."""
        self._pace, self._taken = self._taken, 0

    def _low(self, used: int) -> int:
        return LOW + used // 8 + 2 * max(self._pace, self._taken)

    def _save(self, number: int) -> None:
        value = [self.blocks[number].model_dump(), self._resting.get(number, 0.0), number in self.dropped]
        self._keep("block", str(number), value)
