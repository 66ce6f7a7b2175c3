"""This replica among those that serve the same database: keeps its connection to PostgreSQL, hears and wakes the other
replicas, and takes the lead if no replica has it.

Why two replicas never lead at the same time: a promise ends LEASE after the beginning of the last check that was
answered. The server frees the lock when the connection ends, and the connection ends in one of three ways. If the
process dies, it ends at once, and nothing is left that leads. If this side ends it, this side has resigned before. If
this side is cut off from the server, it ends no earlier than 6 s after the server has last heard of this side
(`drivers.KEEPALIVE`), which is later than the end of the promise. If the server loses the lock in another way (it
crashes while its leader is cut off), two replicas may lead for LEASE at most. For this case, every act of the leader is
a transaction that may be tried twice, and route servers take only later generations."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.unavailable import Unavailable
from controller.db import notify_connection as lines
from controller.db import replicas as table
from controller.db.engine import Database
from controller.db.notify_connection import Lost, NotifyConnection
from controller.db.replicas import Replica
from controller.replication.leadership import Leadership, clock
from controller.runtime.service import forever
from controller.runtime.task_group import task_group
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

BEAT = 1.0
"""Seconds between two checks of the connection, and between two attempts to lead."""

LEASE = 4.0
"""Seconds for which a leader leads, counted from the beginning of its last check that was answered."""

PAUSE = 0.02
"""Seconds in which further messages to the other replicas are collected."""

ROOM = 7000
"""Most bytes of one message: PostgreSQL takes 8,000."""

BELL = "bell"
HELLO = "hello"
"""The message of a replica that has just begun to hear."""

Hear = Callable[[str, list[str]], None]


class Replicas:
    """With `line` None (SQLite) there is one replica, and nothing to do. `wakeup` rings on all replicas when it rings
    here. `hear` has a handler for each kind of message; it gets the sender and the words. `look` has the functions that
    take over everything that was missed while no message could be heard."""

    def __init__(
        self, name: str, release: str, database: Database, line: NotifyConnection | None, wakeup: Wakeup
    ) -> None:
        self.name, self.instance = name, secrets.token_hex(8)
        self.leadership = Leadership(alone=line is None)
        self.hear: dict[str, Hear] = {}
        self.look: list[Callable[[], Awaitable[None]]] = []
        self.known: list[Replica] = []
        self.release, self._database, self._line, self._wakeup = release, database, line, wakeup
        self._broken, self._rung = asyncio.Event(), asyncio.Event()
        self.settled = asyncio.Event()
        """Set when it is known for the first time whether this replica leads, or that this cannot be known."""
        self._telling: list[str] = []
        wakeup.afar = self._ring

    @property
    def alone(self) -> bool:
        """Whether there can be no other replica."""
        return self._line is None

    def alive(self, name: str) -> bool:
        """Return whether a replica of that name was alive at the last beat."""
        return any(replica.name == name and replica.alive for replica in self.known)

    @property
    def leader(self) -> str | None:
        """The name of the leader, as far as it is known; None if there is no leader."""
        if self.leadership.leading:
            return self.name
        return next((r.name for r in self.known if r.leading and r.alive and r.name != self.name), None)

    async def owners(self, session: AsyncSession) -> set[str]:
        """Return the instances that are alive."""
        if self.alone:
            return {self.instance}
        return {self.instance} | {r.instance for r in await table.all_of_them(session) if r.alive}

    async def say(self, session: AsyncSession, kind: str, words: Iterable[str] = ()) -> None:
        """Tell the other replicas, when the transaction is committed."""
        if self._line is not None:
            for text in _texts(f"{self.name} {kind}", words):
                await lines.say(session, text)

    def tell(self, kind: str, words: Iterable[str] = ()) -> None:
        """Tell the other replicas soon; a message that is lost is not repeated."""
        if self._line is not None:
            self._telling += _texts(f"{self.name} {kind}", words)
            self._rung.set()

    def _ring(self) -> None:
        if f"{self.name} {BELL}" not in self._telling:
            self.tell(BELL)

    async def run(self) -> None:
        """Work until cancelled."""
        if self._line is None:
            self.settled.set()
            return await forever()
        try:
            while True:
                try:
                    await self._keep(self._line)
                except (Lost, Unavailable) as error:
                    log.warning("%s: no line to PostgreSQL: %s", self.name, error)
                except Exception:  # a new connection may help
                    log.exception("%s: the line to PostgreSQL", self.name)
                self._give_up(self._line)
                self.settled.set()
                await asyncio.sleep(BEAT)
        finally:
            self._give_up(self._line)
            with suppress(Exception):
                async with asyncio.timeout(lines.PATIENCE), self._database.write() as session:
                    await table.leave(session, self.name, self.instance)

    async def _keep(self, line: NotifyConnection) -> None:
        self._broken.clear()
        await line.open(self._heard, self._break)
        await self._beat()
        for look in self.look:
            await look()
        self.tell(HELLO)
        self._wakeup.ring_here()
        await task_group(self._lead(line), self._echo(line), self._live(), self._until_broken())

    async def _lead(self, line: NotifyConnection) -> None:
        while True:
            started, led = clock(), self.leadership.leading
            if led:
                await line.check()
            if led or await line.take_lead():
                self.leadership.promise(started + LEASE)
            if not led and self.leadership.leading:
                log.warning("%s leads", self.name)
                await self._beat()
            self.settled.set()
            await asyncio.sleep(BEAT)

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            with suppress(Unavailable):  # the connection to PostgreSQL may work all the same
                await self._beat()

    async def _beat(self) -> None:
        async with self._database.write() as session:
            await table.beat(session, self.name, self.instance, self.release, self.leadership.leading)
            self.known = await table.all_of_them(session)

    async def _echo(self, line: NotifyConnection) -> None:
        """Send the messages for the other replicas, not too often."""
        while True:
            await self._rung.wait()
            self._rung.clear()
            telling, self._telling = self._telling, []
            for text in telling:
                await line.say(text)
            await asyncio.sleep(PAUSE)

    async def _until_broken(self) -> None:
        await self._broken.wait()
        raise Lost("the server closed the connection")

    def _heard(self, text: str) -> None:
        who, kind, *words = text.split(" ")
        if who == self.name:
            return
        if kind == BELL:
            self._wakeup.ring_here()
        elif kind in self.hear:
            self.hear[kind](who, words)

    def _break(self) -> None:
        self.leadership.resign()
        self._broken.set()

    def _give_up(self, line: NotifyConnection) -> None:
        if self.leadership.leading:
            log.warning("%s leads no longer", self.name)
        self.leadership.resign()
        line.drop()


def _texts(beginning: str, words: Iterable[str]) -> Iterator[str]:
    """Yield the text of the message, in as many pieces as it takes."""
    text = beginning
    for word in words:
        if len(text) + len(word) > ROOM:
            yield text
            text = beginning
        text += f" {word}"
    yield text
