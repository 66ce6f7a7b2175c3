"""The door to nftables: the `nft` command."""

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
"""Each table of an agent's begins so."""

FAMILIES = ("bridge", "inet")
"""Families of tables with counters of ours."""

_TIMEOUT = 10.0


class _Object(TypedDict):
    """nft's description of anything that has a name, in a table (libnftables-json(5))."""

    family: str
    table: str
    name: str


class _Chain(_Object):
    """And of a base chain's place."""

    hook: NotRequired[str]
    policy: NotRequired[str]


class _Counter(_Object):
    """And of what it has counted."""

    packets: int
    bytes: int


class _Set(_Object):
    """And of what is in it."""

    elem: NotRequired[list[Any]]


class _Rule(TypedDict):
    """nft's description of a rule."""

    chain: str
    expr: NotRequired[list[dict[str, Any]]]


class Object(TypedDict):
    """One entry of nft's lists: an object by its kind. Of kinds that nobody looks at nothing is said."""

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
    """`nft` is missing or refused what it was given. The text is for people."""


@dataclass(frozen=True)
class Dropped:
    """What one LAN's fence has dropped for one reason since its rules were last replaced."""

    bridge: str
    reason: str
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Elements:
    """What changes in one set, as nft writes elements. Taking out what is not there is no error (in a set without
    intervals), nor is putting in what is there."""

    table: str
    name: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    family: str = "bridge"

    def text(self) -> str:
        """The change for `nft -f`. What is to go is added first, as `delete` fails where there is nothing."""
        steps = (("add", self.remove), ("delete", self.remove), ("add", self.add))
        return "".join(
            f"{verb} element {self.family} {self.table} {self.name} {{ {', '.join(elements)} }}\n"
            for verb, elements in steps
            if elements
        )


class Nft:
    """The rules in this network namespace's kernel. One change at a time, however many want one."""

    def __init__(self) -> None:
        self._text: str | None = None  # the fences as they are in the kernel; None: to be put in again
        self._generation: int | None = None  # as the last change through here has left it; None: nobody knows
        self._strange = 0
        self._own: deque[int] = deque(maxlen=256)  # generations that changes through here have led to
        self._lock = asyncio.Lock()

    def strange(self) -> int:
        """Counts how often anybody else was found to have changed something: what was in the kernel when this was less
        may be there no longer."""
        if not self._lock.locked():  # else there is a change of our own under way
            self._look()
        return self._strange

    def _look(self) -> None:
        now = generation()
        if now is None or now != self._generation:
            self._text, self._generation = None, now
            self._strange += 1

    async def heard(self, transactions: Iterable[Transaction]) -> list[Transaction]:
        """Takes note of changes that the kernel tells of, in their order. Returns those by somebody else to a table of
        ours; others' changes to their own tables make nothing strange."""
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
        """Replaces the fences by `text` in one transaction; says whether anything was done.

        Nothing is (no process, and the counters go on) while the kernel's rules are as this object left them. `first`
        goes ahead of the text if anything is done. Raises NftError.
        """
        async with self._lock:
            self._look()
            if self._text == text:
                return False
            alone = await self._change(first + text)
            # Another change in between may have touched ours: then do not rely on it next time.
            self._text = text if alone else None
            return True

    async def load(self, text: str) -> int:
        """Does what the text says, to a table that is not the fences'. As long as `strange()` is what this returns, it
        is as it was left. Raises NftError."""
        async with self._lock:
            self._look()
            await self._change(text)
            return self._strange

    async def elements(self, changes: Iterable[Elements]) -> None:
        """Changes sets, in one transaction; what refers to them stays as it is. Raises NftError, and then nothing is
        changed: there is no such table or set, say."""
        if text := "".join(change.text() for change in changes):
            await self.load(text)

    async def _change(self, text: str) -> bool:
        """Returns whether nobody else changed anything meanwhile."""
        before = self._generation
        await _nft("-f", "-", stdin=text)
        after = generation()
        alone = before is not None and after == before + 1
        self._generation = after if alone else None
        if alone and after is not None:
            self._own.append(after)
        return alone

    async def counters(self, *tables: str) -> list[Dropped]:
        """Return what these tables' counters have counted, also those that are at 0; empty if there is no such table.
        Raises NftError."""
        found = []
        for item in await _listed("counters"):
            counter = item.get("counter")
            if counter and counter["table"] in tables and counter["family"] in FAMILIES:
                bridge, _, reason = counter["name"].partition(".")
                found.append(Dropped(bridge, reason, counter["packets"], counter["bytes"]))
        return sorted(found, key=lambda d: (d.bridge, d.reason))

    async def names(self, table: str) -> dict[str, frozenset[str]]:
        """Chains, counters and limits of a bridge table by their kind; empty if it is not there. Raises NftError."""
        found: dict[str, set[str]] = {}
        for kind in _KINDS:
            for item in await _listed(f"{kind}s"):
                one: _Object | None = item.get(kind)
                if one and one["table"] == table and one["family"] == "bridge":
                    found.setdefault(kind, set()).add(one["name"])
        return {kind: frozenset(names) for kind, names in found.items()}


async def objects(family: str, table: str) -> list[Object]:
    """What a table has, in nft's own JSON (libnftables-json(5)). Raises NftError, also if there is no such table."""
    return await _listed("table", family, table)


async def chains() -> list[Object]:
    """All chains in this namespace, without their rules, in nft's own JSON. Raises NftError."""
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
