"""Access to FRR's daemons: loads a configuration, reads the sessions."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents import command
from agents.answer import Unreadable, printable, read_json
from agents.bgp.frr.vty import VtyError, ask
from agents.storage import durable

_RELOAD = "/usr/lib/frr/frr-reload.py"
_RELOAD_TIMEOUT = 30.0
_SESSIONS = "show bgp l2vpn evpn summary json"
# VTEPs behind a default route are reachable; without this zebra calls them unreachable, and bgpd opens no session.
_NEXT_HOPS_BY_DEFAULT_ROUTE = "ip nht resolve-via-default"

_PASSWORD = re.compile(r"(neighbor (\S+) password) (\S+)")
_NEIGHBOUR = re.compile(r"neighbor (\S+) remote-as")


class _Peer(TypedDict):
    """bgpd's description of a session."""

    state: str


class _Summary(TypedDict):
    """bgpd's description of all sessions; empty if there are none."""

    peers: NotRequired[dict[str, _Peer]]


_SUMMARY = TypeAdapter(_Summary)


class FrrError(Exception):
    """FRR is not running or did not take the configuration. The text is for users."""


class Frr:
    """zebra and bgpd, which another program starts, with their vty sockets in `vty_dir`.

    `conf` is the file that frr-reload.py reads; its directory must be writable. frr-reload.py only configures bgpd:
    with zebra too, it would switch IP forwarding on or off, which FRR must not decide here.
    """

    def __init__(self, vty_dir: Path, conf: Path) -> None:
        self._bgpd = vty_dir / "bgpd.vty"
        self._zebra = vty_dir / "zebra.vty"
        self._conf = conf
        self._loaded: tuple[str, str] | None = None  # text applied, and what bgpd made of it
        self._lock = asyncio.Lock()

    async def apply(self, config: str) -> bool:
        """Make bgpd run with `config`. Return whether that changed anything.

        Passwords are set over the vty socket first, because frr-reload.py would show the old ones in the list of
        processes. If bgpd already runs with `config`, no process is started. Otherwise frr-reload.py applies only the
        difference, so sessions and routes that stay are not disturbed. Raises FrrError.
        """
        async with self._lock:
            changed = await self.resolve_next_hops()
            before = await self._running()
            if self._loaded == (config, before):
                return changed
            for commands in sign(before, config):
                changed = True
                await self._quietly(*commands)
            _keep(self._conf, config)
            (self._conf.parent / "vtysh.conf").touch()  # vtysh complains when there is none
            await self._reload()
            after = await self._running()
            self._loaded = (config, after)
            return changed or after != before

    async def sessions(self) -> dict[str, str]:
        """Return the state of the session with each route server by its address: `established`, or the FSM state's
        name. Raises FrrError."""
        said = await self._ask(self._bgpd, _SESSIONS)
        try:
            peers = read_json(_SUMMARY, said or "{}").get("peers", {})
        except Unreadable as error:
            raise FrrError(f"bgpd's answer to {_SESSIONS!r} {error}") from None
        return {printable(address, 64): printable(peer["state"], 64).lower() for address, peer in peers.items()}

    async def resolve_next_hops(self) -> bool:
        """Let zebra resolve next hops by a default route; return whether that changed anything.

        FRR up to 9 needs the command. The zebra of FRR 10 does so by default and does not know the command. Raises
        FrrError.
        """
        if _NEXT_HOPS_BY_DEFAULT_ROUTE in await self._ask(self._zebra, "show running-config"):
            return False
        try:
            await self._ask(self._zebra, "configure terminal", _NEXT_HOPS_BY_DEFAULT_ROUTE)
        except FrrError as refusal:
            if "Unknown command" not in str(refusal):
                raise
            return False
        return True

    async def _running(self) -> str:
        return await self._ask(self._bgpd, "show running-config")

    async def _quietly(self, *commands: str) -> None:
        """Run a command with a password in it, which no error may repeat."""
        try:
            await ask(self._bgpd, *commands)
        except VtyError:
            raise FrrError(f"bgpd does not take the password of {commands[-1].split(' password')[0]}") from None

    async def _ask(self, socket: Path, *commands: str) -> str:
        try:
            return await ask(socket, *commands)
        except VtyError as error:
            raise FrrError(str(error)) from None

    async def _reload(self) -> None:
        # --daemon also keeps frr-reload.py from writing /etc/frr, --stdout from writing /var/log/frr.
        directory = str(self._conf.parent)
        arguments = ["--reload", "--stdout", "--log-level", "warning", "--daemon", "bgpd", "--bindir", "/usr/bin"]
        arguments += ["--confdir", directory, "--rundir", directory, "--vty_socket", str(self._bgpd.parent)]
        try:
            ended = await command.run(_RELOAD, *arguments, str(self._conf), seconds=_RELOAD_TIMEOUT, umask=0o077)
        except FileNotFoundError:
            raise FrrError(f"{_RELOAD}: not found; install frr-pythontools") from None
        except TimeoutError:
            raise FrrError(f"frr-reload.py did not finish within {_RELOAD_TIMEOUT:g} s") from None
        if ended.code:
            complaint = _PASSWORD.sub(r"\1 …", _complaint(ended.out + ended.complaint))
            raise FrrError(f"frr-reload.py refused {self._conf}: {complaint}")


def _complaint(output: str) -> str:
    """Return the last lines of frr-reload.py's output, without colours and dates."""
    plain = re.sub(r"^\d{4}-\S+ \S+ +", "", re.sub(r"\x1b\[\d+m", "", output), flags=re.MULTILINE)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return "; ".join(lines[-5:]) or "no reason given"


def sign(running: str, wanted: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands that give bgpd's present neighbours the passwords of the wanted configuration, or none."""
    had = {address: password for _, address, password in _PASSWORD.findall(running)}
    have = {address: password for _, address, password in _PASSWORD.findall(wanted)}
    router = re.search(r"^router bgp \d+$", running, re.MULTILINE)
    for address in sorted(set(_NEIGHBOUR.findall(running))):
        if router is None or had.get(address) == have.get(address):
            continue
        password = have.get(address)
        what = f"no neighbor {address} password" if password is None else f"neighbor {address} password {password}"
        yield "configure terminal", router.group(), what


def _keep(conf: Path, text: str) -> None:
    """Replace a file that others may not read. Its owner and its group stay: FRR's daemons do not run as root, and read
    it when they start."""
    before = conf.stat() if conf.exists() else None
    mode = before.st_mode & 0o640 if before is not None else 0o600

    def owned(fresh: Path) -> None:
        if before is not None:
            os.chown(fresh, before.st_uid, before.st_gid)

    durable.replace(conf, text, mode, owned)
