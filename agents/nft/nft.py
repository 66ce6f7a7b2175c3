"""Access to nftables through the `nft` command."""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents import command
from agents.answer import Unreadable, read_json
from agents.nft.generation import generation
from agents.nft.notifications import Transaction

OURS = "weft"
"""The prefix of the names of the agent's tables."""

FAMILIES = ("bridge", "inet")
"""The families of tables that have counters of ours."""

_TIMEOUT = 10.0


class _Object(TypedDict):
    """nft's description of a named object in a table (libnftables-json(5))."""

    family: str
    table: str
    name: str


class _Chain(_Object):
    """nft's description of a chain, with the place of a base chain."""

    hook: NotRequired[str]
    policy: NotRequired[str]


class _Counter(_Object):
    """nft's description of a counter."""

    packets: int
    bytes: int


class _Set(_Object):
    """nft's description of a set."""

    elem: NotRequired[list[Any]]


class _Rule(TypedDict):
    """nft's description of a rule."""

    chain: str
    expr: NotRequired[list[dict[str, Any]]]


class Object(TypedDict):
    """One entry of nft's lists: an object by its kind. Kinds that the agent does not use are left out."""

    chain: NotRequired[_Chain]
    limit: NotRequired[_Object]
    counter: NotRequired[_Counter]
    set: NotRequired[_Set]
    rule: NotRequired[_Rule]


class _List(TypedDict):
    """A list of nft's."""

    nftables: list[Object]


_LIST = TypeAdapter(_List)
_KINDS: tuple[Literal["chain", "counter", "limit"], ...] = ("chain", "counter", "limit")


class NftError(Exception):
    """`nft` is missing or refused its input. The text is for users."""


@dataclass(frozen=True)
class Dropped:
    """The packets that one LAN's fence has dropped for one reason since its rules were last replaced."""

    bridge: str
    reason: str
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Elements:
    """The changes to one set, as nft writes elements. It is no error to remove a missing element (in a set without
    intervals), or to add a present one."""

    table: str
    name: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    family: str = "bridge"

    def text(self) -> str:
        """Return the change for `nft -f`. Elements to remove are added first, because `delete` fails where there is
        nothing."""
        steps = (("add", self.remove), ("delete", self.remove), ("add", self.add))
        return "".join(
            f"{verb} element {self.family} {self.table} {self.name} {{ {', '.join(elements)} }}\n"
            for verb, elements in steps
            if elements
        )


class Nft:
    """The rules in this network namespace's kernel. Changes run one at a time."""

    def __init__(self) -> None:
        self._text: str | None = None  # the fences in the kernel; None: to be loaded again
        self._generation: int | None = None  # after the last change through here; None: not known
        self._strange = 0
        self._own: deque[int] = deque(maxlen=256)  # generations that changes through here have led to
        self._lock = asyncio.Lock()

    def strange(self) -> int:
        """Return how often another program was found to have changed rules. Rules that were loaded when this number was
        smaller may be gone."""
        if not self._lock.locked():  # if it is locked, a change of our own is under way
            self._look()
        return self._strange

    def _look(self) -> None:
        now = generation()
        if now is None or now != self._generation:
            self._text, self._generation = None, now
            self._strange += 1

    async def heard(self, transactions: Iterable[Transaction]) -> list[Transaction]:
        """Take in changes that the kernel has notified, in their order. Return those by others to a table of ours.
        Changes by others to their own tables do not count as `strange`."""
        foreign = []
        async with self._lock:
            for transaction in transactions:
                if transaction.generation in self._own:
                    continue
                if any(table.startswith(OURS) for table in transaction.touched):
                    foreign.append(transaction)
                elif self._generation is not None and transaction.generation == self._generation + 1:
                    self._generation = transaction.generation
        return foreign

    async def apply(self, text: str, first: str = "") -> bool:
        """Replace the fences by `text` in one transaction. Return whether anything was done.

        Nothing is done (no process runs, and the counters go on) while the kernel's rules are as this object left them.
        `first` comes before the text if anything is done. Raises NftError.
        """
        async with self._lock:
            self._look()
            if self._text == text:
                return False
            alone = await self._change(first + text)
            # Another change in between may have touched our rules: then load them again next time.
            self._text = text if alone else None
            return True

    async def load(self, text: str) -> int:
        """Load the text, which is for another table than the fences'. The table is unchanged as long as `strange()` is
        the number that this returns. Raises NftError."""
        async with self._lock:
            self._look()
            await self._change(text)
            return self._strange

    async def elements(self, changes: Iterable[Elements]) -> None:
        """Change sets in one transaction; rules that use the sets stay as they are. Raises NftError, for example if
        there is no such table or set; then nothing has changed."""
        if text := "".join(change.text() for change in changes):
            await self.load(text)

    async def _change(self, text: str) -> bool:
        """Load the text. Return whether nobody else has changed anything meanwhile."""
        before = self._generation
        await _nft("-f", "-", stdin=text)
        after = generation()
        alone = before is not None and after == before + 1
        self._generation = after if alone else None
        if alone and after is not None:
            self._own.append(after)
        return alone

    async def counters(self, *tables: str) -> list[Dropped]:
        """Return these tables' counters, including those at 0; empty if there is no such table. Raises NftError."""
        found = []
        for item in await _listed("counters"):
            counter = item.get("counter")
            if counter and counter["table"] in tables and counter["family"] in FAMILIES:
                bridge, _, reason = counter["name"].partition(".")
                found.append(Dropped(bridge, reason, counter["packets"], counter["bytes"]))
        return sorted(found, key=lambda d: (d.bridge, d.reason))

    async def names(self, table: str) -> dict[str, frozenset[str]]:
        """Return the chains, counters and limits of a bridge table by their kind; empty if it is not there. Raises
        NftError."""
        found: dict[str, set[str]] = {}
        for kind in _KINDS:
            for item in await _listed(f"{kind}s"):
                one: _Object | None = item.get(kind)
                if one and one["table"] == table and one["family"] == "bridge":
                    found.setdefault(kind, set()).add(one["name"])
        return {kind: frozenset(names) for kind, names in found.items()}


async def objects(family: str, table: str) -> list[Object]:
    """Return the objects of a table in nft's own JSON (libnftables-json(5)). Raises NftError, also if there is no such
    table."""
    return await _listed("table", family, table)


async def chains() -> list[Object]:
    """Return all chains in this namespace, without their rules, in nft's own JSON. Raises NftError."""
    return await _listed("chains")


async def _listed(*what: str) -> list[Object]:
    try:
        return read_json(_LIST, await _nft("-j", "list", *what))["nftables"]
    except Unreadable as error:
        raise NftError(f"nft's answer to 'list {' '.join(what)}' {error}") from None


async def _nft(*arguments: str, stdin: str = "") -> str:
    try:
        ended = await command.run("nft", *arguments, stdin=stdin, seconds=_TIMEOUT)
    except FileNotFoundError:
        raise NftError("nft: not found; install nftables") from None
    except TimeoutError:
        raise NftError(f"nft did not finish within {_TIMEOUT:g} s") from None
    if ended.code:
        raise NftError(f"nft refused the rules: {ended.complaint.strip()}")
    return ended.out
