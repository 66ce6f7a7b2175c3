"""The errors of a database that are not the caller's fault, as one of two kinds, for both databases."""

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError

from controller.core.unavailable import Beaten, Unavailable

POOLED = (
    "a pooler (PgBouncer) is between, and refuses the setting {0} of this controller's sessions; connect to PostgreSQL "
    "directly, or use session mode with {0} in PgBouncer's ignore_startup_parameters"
)

SHARED = (
    "a pooler (PgBouncer) is between, in transaction mode, in which sessions are not this controller's own; connect to "
    "PostgreSQL directly, or set pool_mode = session for this database in PgBouncer"
)

STRANGE = ("26000", "42P05")
"""A prepared statement does not exist, or exists already: it belongs to another client's session."""

BEATEN = ("40001", "40P01")
"""PostgreSQL: serialization failure, deadlock detected."""

AWAY = ("08", "28", "53", "57", "58")
"""Classes of SQLSTATE: connection lost, not admitted, out of resources, shut down or cancelled by timeout, system error
(PostgreSQL, appendix A)."""

WAITING = ("25006", "25P03", "25P04", "55P03", "3D000")
"""PostgreSQL: read-only (a standby), idle or too long in a transaction, lock timeout, no such database (yet)."""

SQLITE = (5, 6, 8, 10, 13, 14)
"""Busy, locked, read-only, I/O error, full, cannot open (sqlite.org/rescode.html)."""


def trouble(error: BaseException) -> Unavailable | None:
    """Return Unavailable or Beaten for an error of a transaction, None if the error is the transaction's own."""
    orig = error.orig if isinstance(error, DBAPIError) else error
    state = str(getattr(orig, "sqlstate", None) or "")
    reason = str(orig).partition("\n")[0].partition(": ")[2] or str(orig) or type(orig).__name__
    if "unsupported startup parameter" in str(orig):
        return Unavailable(POOLED.format(reason))
    if state in STRANGE or "statement pooling" in str(orig):
        return Unavailable(SHARED)
    altered = state == "0A000" and "cached" in str(orig)  # another controller has changed the tables
    if state in BEATEN or altered or isinstance(error, StaleDataError):
        return Beaten(reason)
    if isinstance(error, IntegrityError):
        return None
    if (
        isinstance(error, OSError | TimeoutError | PoolTimeout)
        or (isinstance(error, DBAPIError) and error.connection_invalidated)
        or state[:2] in AWAY
        or state in WAITING
        or getattr(orig, "sqlite_errorcode", 0) & 0xFF in SQLITE
    ):
        return Unavailable(reason)
    return None
