"""This replica among those that serve the same database: keeps its line to PostgreSQL, hears and wakes the others, and
takes the lead if nobody has it.

Why two never lead at the same time: a promise ends LEASE after the beginning of the last check that was answered. The
server frees the lock when the connection ends. It ends at once if the process dies, and then nobody is there to go on;
or because this side ends it, and then it has resigned before; or, cut off from the server, no earlier than 6 s after
the server has last heard of this side (`drivers.KEEPALIVE`), which is later than the promise ends. Should the server
lose the lock otherwise (it crashes while its leader is cut off), two may lead for LEASE at most: so whatever the leader
does is a transaction that may be tried twice, and route servers take no generation that is not later."""

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
"""Seconds between two checks of the line, and between two attempts to lead."""

LEASE = 4.0
"""Seconds that a leader leads after the beginning of its last check that was answered."""

PAUSE = 0.02
"""Seconds in which further events join those that the others are told of."""

ROOM = 7000
"""Bytes of what is said at once: PostgreSQL takes 8,000."""

BELL = "bell"
HELLO = "hello"
"""Said by a replica that has just begun to hear."""

Hear = Callable[[str, list[str]], None]


class Replicas:
    """With `line` None (SQLite) there is one replica, and nothing to do. `wakeup` rings everywhere when it rings here.
    `hear` says who is told of what is said, by whom, and the words. `look` takes over all that was missed while
    nothing could be heard."""

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
        """Whether there can be no other."""
        return self._line is None

    def alive(self, name: str) -> bool:
        """Whether a replica of that name was heard of just now."""
        return any(replica.name == name and replica.alive for replica in self.known)

    @property
    def leader(self) -> str | None:
        """Who leads, as far as is known; None if nobody does."""
        if self.leadership.leading:
            return self.name
        return next((r.name for r in self.known if r.leading and r.alive and r.name != self.name), None)

    async def owners(self, session: AsyncSession) -> set[str]:
        """The instances that are alive."""
        if self.alone:
            return {self.instance}
        return {self.instance} | {r.instance for r in await table.all_of_them(session) if r.alive}

    async def say(self, session: AsyncSession, kind: str, words: Iterable[str] = ()) -> None:
        """Tells the others when the transaction is committed."""
        if self._line is not None:
            for text in _texts(f"{self.name} {kind}", words):
                await lines.say(session, text)

    def tell(self, kind: str, words: Iterable[str] = ()) -> None:
        """Tells the others soon; what is not heard is not repeated."""
        if self._line is not None:
            self._telling += _texts(f"{self.name} {kind}", words)
            self._rung.set()

    def _ring(self) -> None:
        if f"{self.name} {BELL}" not in self._telling:
            self.tell(BELL)

    async def run(self) -> None:
        """Works until cancelled."""
        if self._line is None:
            self.settled.set()
            return await forever()
        try:
            while True:
                try:
                    await self._keep(self._line)
                except (Lost, Unavailable) as error:
                    log.warning("%s: no line to PostgreSQL: %s", self.name, error)
                except Exception:  # whatever it is, a new line may do
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
            with suppress(Unavailable):  # the line may stand all the same
                await self._beat()

    async def _beat(self) -> None:
        async with self._database.write() as session:
            await table.beat(session, self.name, self.instance, self.release, self.leadership.leading)
            self.known = await table.all_of_them(session)

    async def _echo(self, line: NotifyConnection) -> None:
        """Says what the others are to be told, not too often."""
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
    """What is to be said, in as many pieces as it takes."""
    text = beginning
    for word in words:
        if len(text) + len(word) > ROOM:
            yield text
            text = beginning
        text += f" {word}"
    yield text
