"""A PE of a few messages: one BGP session (RFC 4271) from an address of its own, which announces label blocks (RFC
4761)."""

import socket
import struct
import time
from contextlib import suppress
from ipaddress import IPv4Address

MARKER = b"\xff" * 16
OPEN, UPDATE, KEEPALIVE = 1, 2, 4
AFI, SAFI = 25, 65  # L2VPN, VPLS


class PlainPe:
    """A PE. The constructor establishes the session or raises an error; `close` breaks the connection."""

    def __init__(self, address: str, server: tuple[str, int], asn: int = 65000) -> None:
        self._address, self._asn = IPv4Address(address), asn
        self._socket = socket.create_connection(server, 10, source_address=(address, 0))
        capability = struct.pack("!BBHBB", 1, 4, AFI, 0, SAFI) + struct.pack("!BBI", 65, 4, asn)
        options = struct.pack("!BB", 2, len(capability)) + capability
        body = struct.pack("!BHH4sB", 4, asn, 180, self._address.packed, len(options)) + options
        try:
            self._send(OPEN, body)
            self._send(KEEPALIVE, b"")
            assert [self._receive(), self._receive()] == [OPEN, KEEPALIVE]
        except BaseException:
            self._socket.close()
            raise

    def announce(
        self, site: int, target: int, ve_id: int | None = None, hop: str | None = None, base: int = 4097
    ) -> None:
        """Announce the label block of a site, with the route target of another site or its own. Values that are not
        given are correct."""
        distinguisher = struct.pack("!HHI", 0, self._asn, site)
        nlri = struct.pack("!H8sHHH", 17, distinguisher, ve_id or site, 1, 64) + (base << 4 | 1).to_bytes(3, "big")
        via = IPv4Address(hop) if hop else self._address
        reach = struct.pack("!HBB4sB", AFI, SAFI, 4, via.packed, 0) + nlri
        attributes = (
            b"\x90\x0e" + struct.pack("!H", len(reach)) + reach  # MP_REACH_NLRI
            + b"\x40\x01\x01\x00" + b"\x40\x02\x00" + b"\x40\x05\x04" + struct.pack("!I", 100)
            + b"\xc0\x10\x08" + struct.pack("!HHI", 2, self._asn, target)  # route target (RFC 4360)
        )  # fmt: skip
        self._send(UPDATE, struct.pack("!HH", 0, len(attributes)) + attributes)

    def ended(self, seconds: float) -> bool:
        """Return whether the route server ends the session within that time."""
        deadline = time.monotonic() + seconds
        with suppress(ConnectionError):
            while (left := deadline - time.monotonic()) > 0:
                self._socket.settimeout(left)
                try:
                    if not self._socket.recv(4096):
                        return True
                except TimeoutError:
                    return False
            return False
        return True

    def close(self) -> None:
        self._socket.close()

    def _send(self, kind: int, body: bytes) -> None:
        self._socket.sendall(MARKER + struct.pack("!HB", 19 + len(body), kind) + body)

    def _receive(self) -> int:
        header = self._exactly(19)
        length, kind = struct.unpack("!HB", header[16:])
        self._exactly(length - 19)
        return int(kind)

    def _exactly(self, size: int) -> bytes:
        read = b""
        while len(read) < size:
            piece = self._socket.recv(size - len(read))
            assert piece, "the route server closed the session"
            read += piece
        return read
