"""The connections to the two databases: drivers, settings and time limits."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from controller.db import libpq, sqlite_connection

BUSY_MS = 10_000
"""Milliseconds that a statement waits for a lock that another process holds."""

MIGRATION_MS = 600_000
"""Milliseconds that a controller waits at its start while another one brings the database up to date."""

STATEMENT_MS, IDLE_MS = 30_000, 60_000
"""PostgreSQL: milliseconds that a statement may run, and that a transaction may do nothing, so that a controller that
hangs does not hold up the others for longer. Between two statements, making a region of 100,000 from its rows takes
seconds."""

RANDOM_PAGE = "1.1"
"""PostgreSQL: the cost of a random page, relative to the next page in order. With the default of 4, meant for a
rotating disk, it reads all clients to find fifty of them, until it has counted a table that grows, which it does once a
minute."""

CONNECT, COMMAND = 5, 40
"""PostgreSQL: seconds to connect, and to get the answer to a statement, after which the server counts as gone."""

KEEPALIVE = {"tcp_keepalives_idle": "3", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "3"}
"""PostgreSQL: the server notices after 6 s that a controller's machine is gone or cut off, and frees its locks."""


def with_driver(text: str) -> URL:
    """Return the URL of a database with its driver, which may be left out, as PostgreSQL's own tools do."""
    url = make_url(text)
    drivers = {"sqlite": "sqlite+aiosqlite", "postgres": "postgresql+asyncpg", "postgresql": "postgresql+asyncpg"}
    name = drivers.get(url.drivername, url.drivername)
    if name not in drivers.values():
        raise ArgumentError(f"{url.drivername}: the database is sqlite:///FILE or postgresql://USER@HOST/NAME")
    return url.set(drivername=name)


def connecting(url: URL, settings: Mapping[str, str], **options: Any) -> tuple[URL, dict[str, Any]]:
    """Return the URL and the driver's arguments to connect to PostgreSQL. Options in the URL take precedence over
    `settings` and `options`."""
    plain, said = libpq.arguments(url)
    return plain, options | said | {"server_settings": {**settings, **said.get("server_settings", {})}}


def sqlite(url: URL, begin: str, *, migrating: bool = False, **options: Any) -> AsyncEngine:
    """Return an engine for SQLite. With `migrating` it does not check references, because a table is changed by making
    another and dropping the old one while rows refer to it; and it waits longer for locks."""
    patience, references = (MIGRATION_MS, "OFF") if migrating else (BUSY_MS, "ON")
    arguments = {"async_creator_fn": sqlite_connection.opened, "timeout": patience / 1000}
    engine = create_async_engine(url, connect_args=arguments, **options)

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # pysqlite begins no transactions: the listener below does
        cursor = connection.cursor()
        for pragma in ("synchronous=FULL", f"foreign_keys={references}"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine


def postgresql(url: URL, connections: int) -> AsyncEngine:
    settings = {
        "application_name": "weft-controller",
        "jit": "off",  # the queries are short; compiling them takes longer than running them
        "random_page_cost": RANDOM_PAGE,
        "statement_timeout": str(STATEMENT_MS),
        "lock_timeout": str(BUSY_MS),
        "idle_in_transaction_session_timeout": str(IDLE_MS),
        **KEEPALIVE,
    }
    plain, arguments = connecting(url, settings, timeout=CONNECT, command_timeout=COMMAND)
    engine = create_async_engine(
        plain,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=BUSY_MS / 1000,
        connect_args=arguments,
    )

    @event.listens_for(engine.sync_engine, "checkout")
    def check(connection: Any, _record: object, _proxy: object) -> None:
        """Replace a connection that the server has closed. The driver knows that by itself: asking the server every
        time (pool_pre_ping) would take as long as a change does."""
        if connection.driver_connection.is_closed():
            raise InvalidatePoolError

    return engine
