"""A mobile device's own path manager, for LANs that no tunnel connects: `python -m lab.device LOCAL REMOTE [SECONDS]`.

If nothing reaches the VM's old address any more, nobody can tell the device the new one (ADD_ADDR needs a path). But
the device can compute it, its own address plus one, and join by itself: break before make. This needs
`net.mptcp.pm_type=1` in the device before its connections begin, because the kernel's path manager joins only addresses
that it was told.

Every connection gets a subflow from LOCAL to REMOTE, at its present port; its other subflows are closed. The program
ends when all connections have one. So a device has a single path at a time: REMOTE is the VM's old address when the
device walks, and its next address when the VM follows.
"""

import errno
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

_GENERIC = 16  # NETLINK_GENERIC, and GENL_ID_CTRL
_GETFAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
_CREATE, _DESTROY = 10, 11  # MPTCP_PM_CMD_SUBFLOW_CREATE and _DESTROY (linux/mptcp_pm.h)
_LOCAL, _REMOTE, _TOKEN = 0x8001, 0x8006, 4  # MPTCP_PM_ATTR_ADDR and _ADDR_REMOTE, nested, and _TOKEN
_FAMILY, _ID, _ADDRESS4, _ADDRESS6, _PORT = 1, 2, 3, 4, 5  # MPTCP_PM_ADDR_ATTR_*
_ADDRESS_ID = 7  # of LOCAL at this device: any but 0
_AGAIN = 0.3  # seconds between tries: a handshake takes less


@dataclass(frozen=True)
class Subflow:
    """An established subflow. `token` is its connection's at the device."""

    token: int
    local: tuple[str, int]
    remote: tuple[str, int]

    def between(self, local: str, remote: str) -> bool:
        return (self.local[0], self.remote[0]) == (local, remote)


class PathManager:
    """The kernel's path manager in the network namespace of this process, by generic netlink. Raises OSError."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC)
        self._socket.bind((0, 0))
        reply = self._ask(_GENERIC, _GETFAMILY, 3, _attribute(_FAMILY_NAME, b"mptcp_pm\0"))
        self._family = next(struct.unpack("=H", value)[0] for kind, value in _attributes(reply) if kind == _FAMILY_ID)

    def close(self) -> None:
        self._socket.close()

    def create(self, token: int, local: str, remote: tuple[str, int]) -> None:
        """Ask for a subflow. On return the kernel has begun to make it; it is not established yet."""
        ends = _attribute(_LOCAL, _end(local, number=_ADDRESS_ID)) + _attribute(_REMOTE, _end(*remote))
        self._ask(self._family, _CREATE, 1, _attribute(_TOKEN, struct.pack("=I", token)) + ends)

    def destroy(self, subflow: Subflow) -> None:
        """Close a subflow."""
        ends = _attribute(_LOCAL, _end(*subflow.local)) + _attribute(_REMOTE, _end(*subflow.remote))
        self._ask(self._family, _DESTROY, 1, _attribute(_TOKEN, struct.pack("=I", subflow.token)) + ends)

    def _ask(self, family: int, command: int, version: int, attributes: bytes) -> bytes:
        message = struct.pack("=BBH", command, version, 0) + attributes
        self._socket.send(struct.pack("=IHHII", 16 + len(message), family, 5, 1, 0) + message)  # REQUEST | ACK
        answer = b""
        while True:
            reply = self._socket.recv(65536)
            if struct.unpack_from("=H", reply, 4)[0] != 2:  # not NLMSG_ERROR, which is the acknowledgment too
                answer = reply[20:]
                continue
            if code := -struct.unpack_from("=i", reply, 16)[0]:
                raise OSError(code, f"path manager: {errno.errorcode.get(code, code)}")
            return answer


def take_along(local: str, remote: str, seconds: float) -> int:
    """Move all connections and return their number. Raises TimeoutError if some have not moved in time."""
    deadline = time.monotonic() + seconds
    manager = PathManager()
    try:
        while True:
            connections, found = _connections(), _subflows()
            there = {flow.token for flow in found if flow.between(local, remote)}
            missing = [(token, port) for token, port in connections if token not in there]
            if not missing:
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(missing)} connections have not joined {remote} in {seconds:g} s")
            if not _answers(remote):  # a lost SYN is sent again after a second: wait for an answer first
                continue
            for token, port in missing:
                manager.create(token, local, (remote, port))
            time.sleep(_AGAIN)
        for flow in found:
            if not flow.between(local, remote):
                manager.destroy(flow)
        return len(connections)
    finally:
        manager.close()


def _connections() -> list[tuple[int, int]]:
    """Return the token and the remote port of each connection over Multipath TCP."""
    return [
        (int(token, 16), remote[1]) for _, remote, token in _sockets(_output("ss", "-HOMni", "state", "established"))
    ]


def _subflows() -> list[Subflow]:
    return [
        Subflow(int(own, 16), local, remote)
        for local, remote, tokens in _sockets(_output("ss", "-HOtni", "state", "established"))
        if (own := tokens.partition("/")[2].partition("(")[0])  # PEER(id:N)/OWN(id:N)
    ]


def _sockets(said: str) -> Iterator[tuple[tuple[str, int], tuple[str, int], str]]:
    """Yield, for each line of `ss` that has a token, the two ends and its token or tokens."""
    for line in said.splitlines():
        words = line.split()
        ends = [
            (address, port) for address, _, port in (w.rpartition(":") for w in words) if address and port.isdecimal()
        ]
        token = next((word.removeprefix("token:") for word in words if word.startswith("token:")), None)
        if len(ends) >= 2 and token is not None:
            local, remote = ((address.partition("%")[0], int(port)) for address, port in ends[:2])
            yield local, remote, token


def _answers(address: str) -> bool:
    return " 1 received" in _output("ping", "-n", "-c", "1", "-W", "0.1", address)


def _output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def _end(address: str, port: int | None = None, number: int | None = None) -> bytes:
    """Return an address as the path manager takes it."""
    ip = ip_address(address)
    family, kind = (socket.AF_INET, _ADDRESS4) if ip.version == 4 else (socket.AF_INET6, _ADDRESS6)
    attributes = _attribute(_FAMILY, struct.pack("=H", family)) + _attribute(kind, ip.packed)
    attributes += b"" if number is None else _attribute(_ID, bytes((number,)))
    return attributes + (b"" if port is None else _attribute(_PORT, struct.pack("=H", port)))


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind, data[4:length]
        data = data[max(4, (length + 3) & ~3) :]


def main() -> int:
    """Run the program. Exit code 1 if a connection was left behind."""
    try:
        count = take_along(sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 30.0)
    except (OSError, TimeoutError) as error:
        print(f"device: {error}", file=sys.stderr)
        return 1
    print(f"{count} connections have moved")
    return 0


if __name__ == "__main__":
    sys.exit(main())
