"""The sockets that the controller serves on."""

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from controller.settings import BadSettings, Settings


def opened(settings: Settings) -> list[socket.socket]:
    """Bind the sockets to serve: TCP, the unix socket, TLS for agents, and the UI's. Raises BadSettings."""
    sockets = [_tcp("WEFT_LISTEN", settings.listen)]
    if settings.socket:
        sockets.append(_unix(settings.socket))
    if settings.agent_listen:
        sockets.append(_tcp("WEFT_AGENT_LISTEN", settings.agent_listen))
    if settings.ui_listen:
        sockets.append(_tcp("WEFT_UI_LISTEN", settings.ui_listen))
    return sockets


def _tcp(name: str, listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tcp = socket.socket(family, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((host.strip("[]"), int(port)))
        tcp.listen(1024)
    except OSError as error:
        tcp.close()
        raise BadSettings(f"{name}: cannot listen on {listen}: {error.strerror}") from None
    return tcp


def _unix(path: Path) -> socket.socket:
    """Bind a unix socket that only its owner may open. Replaces a socket that a stopped controller left behind."""
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(ConnectionRefusedError):
                probe.connect(str(path))
                raise BadSettings(f"WEFT_SOCKET: another controller serves {path}")
            path.unlink()
        before = os.umask(0o177)
        try:
            unix.bind(str(path))
        finally:
            os.umask(before)
        unix.listen(1024)
    except OSError as error:
        unix.close()
        raise BadSettings(f"WEFT_SOCKET: cannot listen on {path}: {error.strerror or error}") from None
    return unix


def names(sockets: list[socket.socket]) -> str:
    """Return the addresses of the sockets as text for the log."""
    each = [s.getsockname() for s in sockets]
    return " and ".join(name if isinstance(name, str) else f"{name[0]}:{name[1]}" for name in each)
