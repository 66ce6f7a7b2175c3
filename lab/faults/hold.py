"""Holds a move at one of the steps that the controller does by itself. These are over in some 10 ms, too soon to react
to one of their events.

The controller does not know of this. Such a step ends with a transaction of the controller's, and SQLite lets one
process write at a time: a process that has begun to write while the move is at that step keeps it there.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.core.saga.state import Phase
from controller.core.saga.steps import RULES, Step, before
from lab.errors import LabError

SHORT = tuple(step for step, rule in RULES.items() if rule.side == "controller" and before(step, Step.NORMAL))
"""These steps. The controller waits 10 s for a lock (`controller.db.drivers.BUSY_MS`); harm takes less than one
second."""

_PAUSE = 0.0003
"""Seconds between two looks: less time than the controller needs between two of its transactions, and enough for it to
begin one."""
_LONGEST = 60.0


@dataclass(frozen=True)
class HeldMove:
    """A move that stays at a step as long as no other process may write."""

    move: str
    step: Step


@contextmanager
def held(database: Path, vm: str, step: Step) -> Iterator[HeldMove]:
    """Hold the VM's move, once it is at that step, or beyond it if the step was too short even so. The move may be
    ordered later. Raises LabError if there is none in a minute."""
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        yield _hold(connection, vm, step)
        connection.execute("ROLLBACK")


def _hold(connection: sqlite3.Connection, vm: str, step: Step) -> HeldMove:
    deadline = time.monotonic() + _LONGEST
    while time.monotonic() < deadline:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        else:
            query = "SELECT name, step FROM moves WHERE live = ? AND state != ?"
            found = connection.execute(query, (vm, Phase.WAITING)).fetchone()
            if found is not None and not before(Step(found[1]), step):
                return HeldMove(found[0], Step(found[1]))
            connection.execute("ROLLBACK")
        time.sleep(_PAUSE)
    raise LabError(f"no move of {vm} came to {step} within {_LONGEST:g} s")
