"""A replica's own connection to PostgreSQL, for no other use: it holds the leader's lock, hears the messages of other
replicas, and sends messages to them. Messages only wake; the facts are in the tables."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sqlalchemy import NullPool, func, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from controller.db.drivers import KEEPALIVE, connecting, with_driver
from controller.db.engine import Lock

T = TypeVar("T")

CHANNEL = "weft"

PATIENCE = 2.0
"""Seconds in which the server must answer before it counts as gone."""


class Lost(Exception):  # noqa: N818 - a condition that passes
    """There is no connection, or no longer."""


class NotifyConnection:
    """Open until something goes wrong with it; then it is opened anew. Every call may raise Lost."""

    def __init__(self, url: str, name: str) -> None:
        settings = {"application_name": f"weft-controller {name}"[:63], **KEEPALIVE}
        plain, arguments = connecting(with_driver(url), settings)
        self._engine = create_async_engine(plain, poolclass=NullPool, connect_args=arguments | {"timeout": PATIENCE})
        self._connection: Any = None
        self._turn = asyncio.Lock()

    async def open(self, heard: Callable[[str], None], closed: Callable[[], None]) -> None:
        """Connect. `heard` gets every message, also those of this replica; `closed` is called when the connection
        breaks."""

        async def connect() -> None:
            raw = await self._engine.raw_connection()
            connection = self._connection = raw.driver_connection
            assert connection is not None
            raw.detach()
            connection.add_termination_listener(lambda _: closed())
            await connection.add_listener(CHANNEL, lambda _connection, _pid, _channel, text: heard(text))

        await self._within(connect)

    async def take_lead(self) -> bool:
        """Take the leader's lock, if it is free. Returns whether this replica has it."""
        query = "SELECT pg_try_advisory_lock($1)"
        return bool(await self._within(lambda: self._there.fetchval(query, int(Lock.LEADER))))

    async def check(self) -> None:
        """Check that the server answers, so that this connection still holds its locks."""
        await self._within(lambda: self._there.fetchval("SELECT 1"))

    async def say(self, text: str) -> None:
        """Wake the other replicas."""
        await self._within(lambda: self._there.execute("SELECT pg_notify($1, $2)", CHANNEL, text))

    def drop(self) -> None:
        """End the connection, without waiting for the server; its locks end with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    @property
    def _there(self) -> Any:
        if self._connection is None or self._connection.is_closed():
            raise Lost("there is no connection")
        return self._connection

    async def _within(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(PATIENCE), self._turn:
                return await work()
        except Exception as error:  # whatever the driver raises, the connection is of no use any more
            raise Lost(str(error) or type(error).__name__) from error


async def say(session: AsyncSession, text: str) -> None:
    """Wake the other replicas when the transaction is committed."""
    await session.execute(select(func.pg_notify(CHANNEL, text)))
