"""The door to QMP (QEMU manual, "QEMU Machine Protocol Specification"): one machine's monitor, in short sessions.

A monitor serves one client at a time: a long session keeps all other clients out.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from qemu.qmp import ConnectError, ExecuteError, QMPClient, QMPError
from qemu.qmp.qmp_client import GreetingError, NegotiationError

from agents.answer import Unreadable, printable
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.qmp_answer import answer
from agents.hypervisors.short_path import short

PATIENCE = 10.0
"""Seconds that an answer may take: QEMU answers at once unless its main loop waits for storage or network."""

_ATTEMPTS = 5
_TOLD = 600  # characters of QEMU's own text

logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)  # it also logs its errors
_YANKABLE = ("migration", "block-node")
_WRONG = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""The errors that the library raises for an answer that is not valid."""


class MonitorAway(HypervisorError):  # noqa: N818 - a state
    """Raised when nobody answers on the monitor's socket, or not any more."""


class Garbled(HypervisorError):  # noqa: N818 - a state
    """Raised when an answer has not the expected form: the information in it is not known."""


class CommandRefused(HypervisorError):  # noqa: N818 - an answer
    """Raised when QEMU refused a command. The text is QEMU's."""


class Session:
    """A sequence of commands to one machine. `heard` is called whenever QEMU answers."""

    def __init__(self, client: QMPClient, name: str, heard: Callable[[], None]) -> None:
        self._client, self._name, self._heard = client, name, heard

    async def execute(self, command: str, arguments: dict[str, Any] | None = None, seconds: float = PATIENCE) -> Any:
        """Return QEMU's answer to a command, in the form that `qmp_answer` describes. Raises CommandRefused, Garbled,
        and MonitorAway if QEMU does not answer."""
        try:
            async with asyncio.timeout(seconds):
                found = await self._said(command, arguments)
        except CommandRefused:
            self._heard()
            raise
        except TimeoutError:
            raise MonitorAway(f"{self._name}: QEMU did not answer {command} within {seconds:g} s") from None
        self._heard()
        return found

    async def out_of_band(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        """Do the same as `execute`, also with a QEMU that hangs; only some commands can be sent so."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._said(command, arguments, oob=True)
        except TimeoutError as error:
            raise MonitorAway(f"{self._name}: QEMU went away during {command}") from error

    async def _said(self, command: str, arguments: dict[str, Any] | None, oob: bool = False) -> Any:
        try:
            return answer(command, arguments, await self._client.execute(command, arguments, oob=oob))
        except ExecuteError as error:
            text = printable(str(error), _TOLD)
            raise CommandRefused(f"{self._name}: QEMU refused {command}: {text}") from error
        except Unreadable as error:
            raise Garbled(f"{self._name}: QEMU's answer to {command} {error}") from None
        except TimeoutError:
            raise
        except (QMPError, OSError, EOFError) as error:
            raise MonitorAway(f"{self._name}: QEMU went away during {command}") from error
        except _WRONG as error:
            text = f"{self._name}: QEMU's answer to {command} cannot be read: {type(error).__name__}"
            raise Garbled(text) from error

    async def yankable(self) -> list[dict[str, Any]]:
        """Return the connections of a transfer. The question goes out of band, so it reaches a QEMU that hangs. Empty
        if QEMU is gone, or its answer cannot be read."""
        with suppress(HypervisorError):
            return [one for one in await self.out_of_band("query-yank") if one["type"] in _YANKABLE]
        return []

    async def yank(self) -> None:
        """Cut these connections (QMP `yank`)."""
        with suppress(HypervisorError):
            if cut := await self.yankable():
                await self.out_of_band("yank", {"instances": cut})


class Monitor:
    """The monitor that listens on the unix socket `path`."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path, self._lock = name, path, asyncio.Lock()
        self._greeted: QMPClient | None = None
        self._heard = -inf

    @property
    def silence(self) -> float:
        """Seconds since QEMU last answered, in any session; infinite if it never did."""
        return monotonic() - self._heard

    def _hear(self) -> None:
        self._heard = monotonic()

    async def greet(self) -> None:
        """Open and greet the next session now: QEMU may be unable to do so when it is needed. Raises MonitorAway."""
        async with self._lock:
            self._greeted = self._greeted or await self._open()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Wait until no other session is open, and open one. Raises MonitorAway."""
        async with self._lock:
            client, self._greeted = self._greeted or await self._open(), None
            try:
                yield Session(client, self._name, self._hear)
            finally:
                with suppress(QMPError, OSError, EOFError, *_WRONG):  # it raises the reason if the connection has ended
                    await client.disconnect()

    async def _open(self) -> QMPClient:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._connected()
        except (QMPError, OSError, EOFError, TimeoutError, *_WRONG) as error:
            raise MonitorAway(f"{self._name}: QEMU's monitor does not answer") from error

    async def _connected(self) -> QMPClient:
        """Return a connected client. The library gives up on an event before the greeting or in the negotiation: try
        again then."""
        attempts = 0
        while True:
            client, attempts = QMPClient(self._name), attempts + 1
            try:
                with short(self._path) as path:
                    await client.connect(path)
            except ConnectError as error:
                if attempts == _ATTEMPTS or not isinstance(error.exc, (GreetingError, NegotiationError)):
                    raise
            else:
                return client

    async def execute(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        """Execute one command in a session of its own."""
        async with self.session() as session:
            return await session.execute(command, arguments)
