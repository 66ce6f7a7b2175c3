"""The blocks that an agent holds, and which pairs of them somebody new can have."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from agents.leases.quarantine import Quarantine
from controller.wire.delegations import Block

OFFERED = 30.0
"""Seconds for which an offer is kept for whoever got it."""

LOW = 8
"""Free pairs below which more are asked for; an eighth of those in use comes on top, and twice as many as were taken
between the last two exchanges."""

SPARE = 4
"""A block is given back when there would still be so many times the low mark left."""

Keep = Callable[[str, str, Any], None]

Key = tuple[str, str]
"""For whom a pair is kept: a sort of name, and the name."""


class Room:
    """`keep` is called with what has to be on disk. A block rests until a moment on the clock, is not used before, and
    not spoken of; one that was dropped is not used again and goes back to the controller. Pairs in `quarantine` are
    free for nobody."""

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
        """Takes a block in that was kept."""
        block, until, dropped = value
        self.blocks[int(key)] = Block(**block)
        if until:
            self._resting[int(key)] = until
        if dropped:
            self.dropped.add(int(key))

    @property
    def held(self) -> list[int]:
        """The blocks in use."""
        return [number for number in self.blocks if number not in self.dropped and number not in self._resting]

    @property
    def rests(self) -> bool:
        """Whether any block does."""
        return bool(self._resting)

    def lies_in(self, number: int) -> bool:
        """Whether a pair is in a block, in use or not."""
        return any(block.first <= number < block.first + block.pairs for block in self.blocks.values())

    @property
    def size(self) -> int:
        """How many pairs are in blocks in use."""
        return sum(self.blocks[number].pairs for number in self.held)

    @property
    def free(self) -> int:
        """How many pairs somebody new can have."""
        return len(self._free)

    def holds(self, number: int) -> bool:
        """Whether a pair is in a block that is in use."""
        return any(b.first <= number < b.first + b.pairs for b in map(self.blocks.__getitem__, self.held))

    def add(self, blocks: Collection[Block], taken: Collection[int]) -> None:
        """The controller has given these."""
        for block in blocks:
            self.blocks[block.number] = block
            self._resting.pop(block.number, None)
            self.dropped.discard(block.number)
            self._save(block.number)
        self._free |= self._count(blocks, taken)

    def rest(self, until: float, taken: Collection[int]) -> None:
        """What is free in any of them is not certain before."""
        self._offers.clear()
        for number in self.blocks:
            self._resting[number] = until
            self._save(number)
        self.count(taken)

    def wake(self, now: float, taken: Collection[int]) -> list[Block]:
        """Ends the rest of blocks whose time is over; gives them."""
        over = [number for number, until in self._resting.items() if until <= now]
        for number in over:
            del self._resting[number]
            self._save(number)
        if over:
            self.count(taken)
        return [self.blocks[number] for number in over]

    def drop_resting(self) -> None:
        """The controller counts another incarnation than the one that had these, and lets them rest itself."""
        for number in self._resting:
            del self.blocks[number]
            self.dropped.discard(number)
            self._keep("block", str(number), None)
        self._resting.clear()

    def drop_spare(self, used: int) -> None:
        """Gives up blocks that are not needed, the highest first: only such of which every pair is free."""
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
        """The controller has taken these back."""
        for number in blocks:
            if number in self.dropped:
                self.dropped.discard(number)
                del self.blocks[number]
                self._keep("block", str(number), None)

    def wanted(self, used: int) -> int:
        """How many further blocks are wanted where `used` pairs are in use."""
        low = self._low(used)
        if len(self._free) >= low:
            return 0
        size = max((block.pairs for block in self.blocks.values()), default=LOW)
        return -(-(2 * low - len(self._free)) // size)

    def choose(self, whose: Sequence[Key], wanted: int | None, now: float) -> int | None:
        """A free pair, which is kept for a while for the first of those whose it may be: the one that any of them was
        offered before, the one that is wanted, or any. Where all are offered the oldest offer is made again to these:
        it is no promise (RFC 2131, section 3.1), and asking costs a device nothing that only wants to be in the way."""
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
        """Somebody has the pair now: one of `whose`, if it was offered to them."""
        self._taken += 1
        self._free.pop(number, None)
        for key in whose or list(self._offers):
            if key in self._offers and self._offers[key][0] == number:
                del self._offers[key]

    def count(self, taken: Collection[int]) -> None:
        """Counts anew what can be given to somebody new; `taken` are the pairs that somebody has."""
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
        """First and last numbers of pairs that nobody but this agent gives out, block by block: what is withheld is
        somebody else's to use."""
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
        """An exchange begins: what is taken from now on is counted until the next."""
        self._pace, self._taken = self._taken, 0

    def _low(self, used: int) -> int:
        return LOW + used // 8 + 2 * max(self._pace, self._taken)

    def _save(self, number: int) -> None:
        value = [self.blocks[number].model_dump(), self._resting.get(number, 0.0), number in self.dropped]
        self._keep("block", str(number), value)
