"""Access to the kernel's packet log (nfnetlink_log), and a check whether a table is there."""

import errno
import os
import socket
import struct
from collections.abc import Callable

_NETLINK_NETFILTER, _SOL_NETLINK, _NETLINK_NO_ENOBUFS = 12, 270, 5
_CONFIG = (4 << 8) | 1  # NFNL_SUBSYS_ULOG, NFULNL_MSG_CONFIG
_GET_TABLE = (10 << 8) | 1  # NFNL_SUBSYS_NFTABLES, NFT_MSG_GETTABLE
_CMD, _MODE, _TABLE_NAME = 1, 2, 1  # NFULA_CFG_CMD, NFULA_CFG_MODE, NFTA_TABLE_NAME
_BIND, _COPY_PACKET = 1, 2
_REQUEST, _ACK, _ERROR = 1, 4, 2
_BRIDGE = 7  # AF_BRIDGE
_ROOM = 1 << 20  # bytes that may wait in the socket; the kernel drops more than that without an error


class NflogError(Exception):
    """The kernel does not log packets to this process. The text is for users."""


class Nflog:
    """Receives the log group `group` in this network namespace. `heard` gets each datagram as it came, in the event
    loop that watches `fileno()`."""

    def __init__(self, group: int, snap: int, heard: Callable[[bytes], None]) -> None:
        self._heard = heard
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_NO_ENOBUFS, 1)
            self._socket.settimeout(1)
            for kind, value in ((_CMD, struct.pack("=B", _BIND)), (_MODE, struct.pack("!IBB", snap, _COPY_PACKET, 0))):
                _ask(self._socket, _CONFIG, group, kind, value)
            self._socket.setblocking(False)
        except OSError as error:
            self._socket.close()
            why = "somebody else hears it" if error.errno in (errno.EBUSY, errno.EPERM) else error.strerror
            raise NflogError(f"packets cannot be seen, log group {group}: {why}") from error

    def fileno(self) -> int:
        """Return the socket's file descriptor."""
        return self._socket.fileno()

    def read(self) -> None:
        """Pass on the datagrams that are there. Never raises for an error that the kernel returns."""
        for _ in range(64):  # then other callbacks have their turn
            try:
                self._heard(self._socket.recv(65536))
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                continue

    def close(self) -> None:
        """Stop receiving."""
        self._socket.close()


def present(table: str) -> bool:
    """Return whether this network namespace has a bridge table of that name. Raises OSError where there is no
    nftables."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as netlink:
        netlink.settimeout(1)
        try:
            _ask(netlink, _GET_TABLE, 0, _TABLE_NAME, table.encode() + b"\0")
        except FileNotFoundError:
            return False
    return True


def _ask(netlink: socket.socket, kind: int, resource: int, attribute: int, value: bytes) -> None:
    """Send one request. Raises the OSError that the kernel answers with."""
    body = struct.pack("!BBH", _BRIDGE, 0, resource)
    body += struct.pack("=HH", 4 + len(value), attribute) + value + bytes(-len(value) % 4)
    netlink.send(struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | _ACK, 1, 0) + body)
    while True:
        answer = netlink.recv(65536)
        if len(answer) >= 20 and struct.unpack_from("=H", answer, 4)[0] == _ERROR:
            code = -struct.unpack_from("=i", answer, 16)[0]
            if code:
                raise OSError(code, os.strerror(code))
            return
        if kind == _GET_TABLE:
            return  # the table itself
