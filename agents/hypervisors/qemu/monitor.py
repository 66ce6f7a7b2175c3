"""The door to QMP (QEMU manual, "QEMU Machine Protocol Specification"): one machine's monitor, in short sessions.

A monitor serves one client at a time: whoever holds it for long keeps everybody else out.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from qemu.qmp import ConnectError, ExecuteError, QMPClient, QMPError
from qemu.qmp.qmp_client import GreetingError, NegotiationError

from agents.hypervisors.hypervisor import HypervisorError

PATIENCE = 10.0
"""Seconds that an answer may take: QEMU answers at once unless its main loop waits for storage or network."""

_ATTEMPTS = 5

logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)  # it logs what it raises as well
_YANKABLE = ("migration", "block-node")


class MonitorAway(HypervisorError):  # noqa: N818 - a state
    """Nobody answers on the monitor's socket, or not any more."""


class CommandRefused(HypervisorError):  # noqa: N818 - an answer
    """QEMU refused a command. The text is QEMU's."""


class Session:
    """Commands to one machine, in their order. `heard` is called whenever it answers."""

    def __init__(self, client: QMPClient, name: str, heard: Callable[[], None]) -> None:
        self._client, self._name, self._heard = client, name, heard

    async def execute(self, command: str, arguments: dict[str, Any] | None = None, seconds: float = PATIENCE) -> Any:
        """Returns what QEMU returns. Raises CommandRefused, and MonitorAway if it does not answer."""
        try:
            async with asyncio.timeout(seconds):
                answer = await self._client.execute(command, arguments)
        except ExecuteError as error:
            self._heard()
            raise CommandRefused(f"{self._name}: QEMU refused {command}: {error}") from error
        except TimeoutError:
            raise MonitorAway(f"{self._name}: QEMU did not answer {command} within {seconds:g} s") from None
        except (QMPError, OSError, EOFError) as error:
            raise MonitorAway(f"{self._name}: QEMU went away during {command}") from error
        self._heard()
        return answer

    async def out_of_band(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        """As `execute`, also of a QEMU that hangs; only some commands can be said so."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._client.execute(command, arguments, oob=True)
        except ExecuteError as error:
            raise CommandRefused(f"{self._name}: QEMU refused {command}: {error}") from error
        except (TimeoutError, QMPError, OSError, EOFError) as error:
            raise MonitorAway(f"{self._name}: QEMU went away during {command}") from error

    async def yankable(self) -> list[dict[str, Any]]:
        """The connections of a transfer, out of band: also of a QEMU that hangs. Empty if it is gone."""
        with suppress(QMPError, OSError, EOFError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                found = await self._client.execute("query-yank", oob=True)
                assert isinstance(found, list)
                return [one for one in found if one["type"] in _YANKABLE]
        return []

    async def yank(self) -> None:
        """Cuts them (QMP `yank`)."""
        with suppress(QMPError, OSError, EOFError, TimeoutError):
            if cut := await self.yankable():
                async with asyncio.timeout(PATIENCE):
                    await self._client.execute("yank", {"instances": cut}, oob=True)


class Monitor:
    """The monitor that listens on the unix socket `path`."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path, self._lock = name, path, asyncio.Lock()
        self._greeted: QMPClient | None = None
        self._heard = -inf

    @property
    def silence(self) -> float:
        """Seconds since QEMU last answered, in whatever session; infinite if it never did."""
        return monotonic() - self._heard

    def _hear(self) -> None:
        self._heard = monotonic()

    async def greet(self) -> None:
        """The next session has been greeted already: QEMU may be unable to when it is wanted. Raises MonitorAway."""
        async with self._lock:
            self._greeted = self._greeted or await self._open()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Waits for its turn. Raises MonitorAway."""
        async with self._lock:
            client, self._greeted = self._greeted or await self._open(), None
            try:
                yield Session(client, self._name, self._hear)
            finally:
                with suppress(QMPError, OSError, EOFError):
                    await client.disconnect()

    async def _open(self) -> QMPClient:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._connected()
        except (QMPError, OSError, EOFError, TimeoutError) as error:
            raise MonitorAway(f"{self._name}: QEMU's monitor does not answer") from error

    async def _connected(self) -> QMPClient:
        """An event that comes before the greeting, or in the negotiation, makes the library give up: then again."""
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
        """One command in a session of its own."""
        async with self.session() as session:
            return await session.execute(command, arguments)


@contextmanager
def short(path: Path) -> Iterator[str]:
    """Another name of `path` that is short enough for a unix socket's address (108 bytes, unix(7))."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
