"""Access to strongSwan's charon (vici, docs.strongswan.org/docs/latest/plugins/vici.html, PyPI `vici`). No other module
imports vici.

Each call has its own connection, in its own thread, because the library blocks.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import vici
import vici.exception

from agents.answer import shown
from agents.ipsec.association import Association, association
from agents.ipsec.connections import CHILD, PREFIX, PROOF, Connection
from agents.ipsec.credentials import Credentials
from agents.ipsec.reasons import tells

_PATIENCE = 5.0  # seconds that an answer may take
_OURS = (PREFIX, PROOF)
_IKE, _CHILD = "ike-updown", "child-updown"
_LOG, _LINE = "log", ("ikesa-name", "ikesa-uniqueid", "msg")
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""The errors that reading raises for a malformed answer."""
_GARBLED = (vici.exception.SessionException, vici.exception.DeserializationException)
T = TypeVar("T")


class CharonError(Exception):
    """charon refused something. The text is for users."""


class CharonAway(CharonError):  # noqa: N818 - a state
    """charon is not there, or does not answer."""


class Charon:
    """One charon, by its vici socket."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def identify(self, credentials: Credentials) -> None:
        """Load these credentials in place of all others. Existing SAs stay."""
        certificates = [("NONE", credentials.certificate), *(("CA", c) for c in credentials.authorities)]

        def tell(session: Any) -> None:
            session.clear_creds()
            for flag, data in certificates:
                session.load_cert({"type": "X509", "flag": flag, "data": data})
            for crl in credentials.lists:
                session.load_cert({"type": "X509_CRL", "flag": "NONE", "data": crl})
            session.load_key({"type": "any", "data": credentials.key})

        await self._ask(tell)

    async def load(self, connections: Mapping[str, Connection]) -> None:
        """Add the connections, or change those that differ. SAs of unchanged connections stay."""

        def tell(session: Any) -> None:
            for name, connection in connections.items():
                session.load_conn({name: connection})

        await self._ask(tell)

    async def unload(self, name: str) -> None:
        """Unload the connection with its traps and its SAs. It is no error if it does not exist."""

        def tell(session: Any) -> None:
            with suppress(vici.exception.CommandException):
                session.unload_conn({"name": name})
            _terminate(session, name)

        await self._ask(tell)

    async def end(self, name: str) -> None:
        """End the connection's SAs without waiting for the peer; its traps stay. It is no error if there are none."""
        await self._ask(lambda session: _terminate(session, name, force="yes"))

    async def replace(self, name: str) -> None:
        """Start to replace the connection's IKE_SAs, with full authentication (RFC 7296, section 2.8.3), and do not
        wait for it. The present ones stay until then. It is no error if there are none. Packets on their way meanwhile
        may be lost."""

        def tell(session: Any) -> None:
            with suppress(vici.exception.CommandException):
                session.rekey({"ike": name, "reauth": "yes"})

        await self._ask(tell)

    async def initiate(self, name: str) -> None:
        """Start to make the connection's SAs, and do not wait for them."""
        await self._ask(lambda session: _initiate(session, ike=name, child=CHILD))

    async def prove(self, name: str) -> None:
        """Start to make an IKE_SA without a child, in which both ends prove their names, and do not wait for it. If
        charon has an IKE_SA of that name already, it takes that one instead."""
        await self._ask(lambda session: _initiate(session, ike=name))

    async def connections(self) -> frozenset[str]:
        """Return the names of our connections."""
        return await self._ask(
            lambda session: frozenset(
                name for found in session.list_conns() for name in found if name.startswith(_OURS)
            )
        )

    async def associations(self) -> dict[str, Association]:
        """Return the state of our connections by name."""

        def tell(session: Any) -> dict[str, Association]:
            found: dict[str, list[Mapping[str, Any]]] = {}
            for each in session.list_sas():
                for name, ike in each.items():
                    if name.startswith(_OURS):
                        found.setdefault(name, []).append(ike)
            return {name: association(ikes) for name, ikes in found.items()}

        return await self._ask(tell)

    async def watch(
        self,
        opened: Callable[[], None],
        changed: Callable[[], None],
        proved: Callable[[str], None],
        failed: Callable[[str, str, str], None],
    ) -> None:
        """Follow charon's events until it ends, then raise CharonAway. Call `opened` once charon is there, and
        `changed` when SAs come or go. Call `proved`, with the name of a connection of ours, when its peer has proved
        its name by a new IKE_SA; new keys for an old one (ike-rekey) do not count. Call `failed`, with the name, the
        number of the IKE_SA and the line, when charon logs why one cannot be made."""
        loop = asyncio.get_running_loop()
        link = await asyncio.to_thread(self._connect, None)
        opened()

        def heard(kind: bytes, said: Mapping[str, bytes]) -> None:
            if kind.decode() != _LOG:
                for name in said if kind.decode() == _IKE and said.get("up") == b"yes" else ():
                    if name.startswith(_OURS):
                        loop.call_soon_threadsafe(proved, name)
                loop.call_soon_threadsafe(changed)
                return
            name, number, line = (said.get(k, b"").decode(errors="replace") for k in _LINE)
            if name.startswith(_OURS) and tells(line):
                loop.call_soon_threadsafe(failed, name, number, line)

        listening = asyncio.create_task(asyncio.to_thread(_listen, link, heard))
        try:
            await asyncio.shield(listening)
        finally:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)  # ends the thread's wait
            await listening
            link.close()
        raise CharonAway(f"charon at {self._path} has ended")

    async def _ask(self, tell: Callable[[Any], T]) -> T:
        return await asyncio.to_thread(self._told, tell)

    def _told(self, tell: Callable[[Any], T]) -> T:
        with self._session() as session:
            try:
                return tell(session)
            except vici.exception.CommandException as error:
                raise CharonError(f"charon at {self._path}: {error}") from error
            except (OSError, *_GARBLED) as error:
                raise CharonAway(f"charon at {self._path} gives no answer: {error}") from error
            except _UNREADABLE as error:
                text = (
                    f"charon at {self._path} answered what cannot be read: {type(error).__name__}: {shown(str(error))}"
                )
                raise CharonError(text) from error

    @contextmanager
    def _session(self) -> Iterator[Any]:
        link = self._connect(_PATIENCE)
        try:
            yield vici.Session(link)
        finally:
            link.close()

    def _connect(self, patience: float | None) -> socket.socket:
        link = socket.socket(socket.AF_UNIX)
        try:
            link.settimeout(_PATIENCE)
            link.connect(str(self._path))
            link.settimeout(patience)
        except OSError as error:
            link.close()
            raise CharonAway(f"charon at {self._path}: {(error.strerror or str(error)).lower()}") from error
        return link


def _listen(link: socket.socket, heard: Callable[[bytes, Mapping[str, bytes]], None]) -> None:
    with suppress(OSError, RuntimeError, *_GARBLED):  # the connection or the event loop has ended
        for kind, said in vici.Session(link).listen([_IKE, _CHILD, _LOG]):
            heard(kind, said)


def _initiate(session: Any, **what: str) -> None:
    for _ in session.initiate({**what, "timeout": "-1"}):
        pass


def _terminate(session: Any, name: str, force: str = "no") -> None:
    with suppress(vici.exception.CommandException):
        for _ in session.terminate({"ike": name, "force": force, "timeout": "-1"}):
            pass
