"""Transactions, and the differences between SQLite and PostgreSQL (those of connections are in `drivers`).

SQLite allows one writer: writes queue for a lock of ours and begin IMMEDIATE, so none ever fails with "database is
locked". Readers see the last commit (WAL) and never wait.

PostgreSQL lets writers run side by side. They read committed data (READ COMMITTED), so a transaction that has waited
for another one sees its result. Constraints keep unique what must be unique, and transactions that must run one after
the other take a lock (`alone`). A stricter level would take its snapshot before such a wait, and make the wait useless.
Readers have a snapshot (REPEATABLE READ), which costs nothing and never fails."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from enum import IntEnum
from typing import Any, TypeVar

from sqlalchemy import ARRAY, bindparam, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from controller.core.event_budget import EventBudget
from controller.core.unavailable import Beaten, Unavailable
from controller.db import drivers
from controller.db.errors import SHARED, trouble

T = TypeVar("T")
Work = Callable[[AsyncSession], Awaitable[T]]

WRITERS, READERS = 10, 10
"""PostgreSQL: most connections of one controller. It needs no more, and a server admits 100 by default."""

ATTEMPTS = 5
"""Attempts at a transaction while other transactions are quicker."""

LAST = "weft.last"

EVENTS = "weft.event_budget"
"""The key of the budget of events in a writing session's `info`."""

SESSION = "SELECT current_setting('weft.session', true), pg_backend_pid()"
"""The setting that an earlier transaction made, and the server's process: each connection has its own of both."""
TURNS = ("one", "two", "two", "one", "one", "two")
"""The order in which two connections are asked: it also finds a pooler that hands out two sessions in turn."""

LOCKS = 0x77656674 << 32
"""The base of our advisory locks. Their numbers are shared by all users of a database; ours begin with "weft" in
ASCII."""


class Lock(IntEnum):
    """Locks for acts that only one transaction at a time may do, over all controllers of a database."""

    MIGRATION = LOCKS + 1
    EVENTS = LOCKS + 2
    CHANGE = LOCKS + 3
    ATTENDANCE = LOCKS + 4
    LEADER = LOCKS + 5
    VMS = LOCKS + 6
    AUDIT = LOCKS + 7


def insert(session: AsyncSession, table: type[Any]) -> "postgresql.Insert | sqlite.Insert":
    """Return an INSERT that can tell what to do about an existing row (`on_conflict_…`)."""
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


class Database:
    """Engines and sessions. `read()` gives a session on a snapshot, `write()` one that commits when its block ends.
    Both raise Unavailable while the database is away, and work again when it is back. Their blocks contain only work
    with the database. `watch` is called at the beginning of every transaction that writes."""

    def __init__(self, url: str, watch: Callable[[AsyncSession], None] | None = None) -> None:
        where = drivers.with_driver(url)
        self.watch = watch
        self.event_budget = EventBudget()
        self._url, self._sqlite = where, where.get_backend_name() == "sqlite"
        if self._sqlite:
            self._turn: asyncio.Lock | nullcontext[None] = asyncio.Lock()
            self.readers = drivers.sqlite(where, "BEGIN")
            self.writer = drivers.sqlite(where, "BEGIN IMMEDIATE", pool_size=1, max_overflow=0)
        else:
            self._turn = nullcontext()
            readers = drivers.postgresql(where, READERS)
            self.readers = readers.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            self.writer = drivers.postgresql(where, WRITERS)

    @property
    def shared(self) -> bool:
        """Whether several controllers may work with the database at the same time."""
        return not self._sqlite

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Yield a session for reading."""
        with _translated():
            async with AsyncSession(self.readers, expire_on_commit=False) as session:
                yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """Yield a session whose work is one transaction: committed at the end of the block, undone if it raises."""
        with _translated():
            async with self._turn, AsyncSession(self.writer, expire_on_commit=False) as session, session.begin():
                session.info[EVENTS] = self.event_budget
                if self.watch is not None:
                    self.watch(session)
                yield session
                for work in session.info.pop(LAST, ()):
                    await work(session)

    async def transact(self, work: Work[T]) -> T:
        """Run `work` in a transaction, again from its beginning if another transaction was quicker. Raises
        IntegrityError if it violates a constraint every time."""
        for attempt in range(1, ATTEMPTS):
            try:
                async with self.write() as session:
                    return await work(session)
            except (Beaten, IntegrityError):
                await asyncio.sleep(random.random() * 0.005 * attempt)
        async with self.write() as session:
            return await work(session)

    @asynccontextmanager
    async def migrating(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection for changing tables, without time limits, to one controller at a time."""
        engine = drivers.sqlite(self._url, "BEGIN IMMEDIATE", migrating=True) if self._sqlite else self.writer
        try:
            with _translated():
                async with engine.connect() as connection:
                    await connection.begin()
                    if not self._sqlite:
                        await connection.execute(text(f"SELECT pg_advisory_xact_lock({Lock.MIGRATION:d})"))
                        for what in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
                            await connection.execute(text(f"SET LOCAL {what} = 0"))
                    yield connection
                    if self._sqlite and (broken := (await connection.execute(text("PRAGMA foreign_key_check"))).all()):
                        raise Unavailable(_deleted([(table, parent) for table, _, parent, _ in broken]))
                    await connection.commit()
        finally:
            if self._sqlite:
                await engine.dispose()

    async def check(self) -> None:
        """Raise Unavailable, with the remedy, if the sessions that the server gives this controller are not its own: a
        pooler in transaction mode lets settings, locks and statements of one connection appear on another."""
        if self._sqlite:
            return
        with _translated():
            async with self.writer.connect() as one, self.writer.connect() as two:
                connections = {"one": one, "two": two}
                for name, connection in connections.items():
                    await connection.execution_options(isolation_level="AUTOCOMMIT")
                    await connection.execute(text("SELECT set_config('weft.session', :name, false)"), {"name": name})
                said = [(name, *(await connections[name].execute(text(SESSION))).one()) for name in TURNS]
        if any(kept != name for name, kept, _ in said) or len({(name, pid) for name, _, pid in said}) > 2:
            raise Unavailable(SHARED)

    async def answers(self) -> bool:
        """Return whether the database can be read now."""
        try:
            async with self.read() as session:
                await session.execute(text("SELECT 1"))
        except Exception:  # whatever the driver raises, the database cannot be read
            return False
        return True

    async def close(self) -> None:
        """Close every connection."""
        await self.readers.dispose()
        await self.writer.dispose()


async def alone(session: AsyncSession, lock: Lock) -> None:
    """Wait until no other transaction has the lock, and keep it until this one ends. On SQLite every writing
    transaction is alone."""
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(text(f"SELECT pg_advisory_xact_lock({lock:d})"))


async def insert_alone(session: AsyncSession, lock: Lock, table: type[Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows, all with the same columns, under the lock, as `alone`. On PostgreSQL this is one statement with a list
    for each column: all transactions wait for each other here, and would otherwise wait for a controller that has the
    lock and does other work before it writes."""
    if session.get_bind().dialect.name == "sqlite":
        await session.execute(sqlite.insert(table), list(rows))
        return
    names = list(rows[0])
    columns = ", ".join(names)
    lists = ", ".join(f":{name}" for name in names)
    turn = f"(SELECT pg_advisory_xact_lock({lock:d})) AS turn"
    statement = text(
        f"INSERT INTO {table.__tablename__} ({columns}) SELECT row.* FROM {turn}, unnest({lists}) AS row({columns})"
    )
    types = (bindparam(name, type_=ARRAY(getattr(table, name).type, dimensions=1)) for name in names)
    await session.execute(statement.bindparams(*types), {name: [row[name] for row in rows] for name in names})


def last(session: AsyncSession, work: Callable[[AsyncSession], Awaitable[None]]) -> None:
    """Do `work` at the end of the transaction, right before it is committed. A lock that all transactions want belongs
    here: it is held only during the commit, and nothing is waited for in that time."""
    session.info.setdefault(LAST, []).append(work)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Unavailable:
        raise
    except Exception as error:
        if found := trouble(error):
            raise found from error
        raise


def _deleted(broken: list[tuple[str, str]]) -> str:
    """Return the message about a database from which somebody has deleted rows by hand, with the remedy. `broken` has
    the table of each row with a broken reference, and the table to which it refers."""
    some = ", ".join(f"{number} of {table} to {parent}" for (table, parent), number in sorted(Counter(broken).items()))
    return (
        f"{len(broken)} rows refer to rows that are not there ({some}): put a backup in place, or stop all controllers "
        "and run `weft-controller mend`, which names each"
    )
