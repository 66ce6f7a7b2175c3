"""A light PE: BGP sessions with both route servers, one VPLS route of its own, and a record of all routes it received.

It forwards nothing. Other tests cover a real PE; this one notices states that last a millisecond.
"""

import asyncio
import contextlib
import struct
import time
from dataclasses import dataclass, field

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
MP_REACH, MP_UNREACH = 14, 15
VPLS = struct.pack("!HB", 25, 65)  # RFC 4761 section 3.2.2
ASN, HOLD = 65000, 9

Address = tuple[str, int]


@dataclass
class LightPe:
    """The PE of `name` at `address` announces the VPLS route of one site. `tables` holds, by route server, the VE IDs
    that it knows. While a VE ID is in `forbidden`, each announcement of it is an error; while one is in `needed`, it is
    an error if any route server withdraws it. Errors are written to `wrong`."""

    name: str
    address: str
    rd: str
    rt: str
    ve_id: int
    servers: dict[str, Address]
    tables: dict[str, set[int]] = field(default_factory=dict)
    forbidden: set[tuple[str, int]] = field(default_factory=set)
    needed: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    @property
    def known(self) -> set[int]:
        """The VE IDs that at least one route server has announced."""
        return set[int]().union(*self.tables.values())

    def forbid(self, ve_id: int, *servers: str) -> None:
        """Forbid a VE ID from now on, at all route servers unless some are named."""
        self.forbidden |= {(server, ve_id) for server in servers or self.servers}

    async def run(self) -> None:
        """Keep all sessions up until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for server, remote in self.servers.items():
                tasks.create_task(self._keep(server, remote))

    async def _keep(self, server: str, remote: Address) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError):
                reader, writer = await asyncio.open_connection(*remote, local_addr=(self.address, 0))
                try:
                    await self._session(server, reader, writer)
                finally:
                    writer.close()
                    self._forget(server, set(self.tables.pop(server, ())))
            await asyncio.sleep(0.05)

    async def _session(self, server: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self._open())
        beat: asyncio.Task[None] | None = None
        try:
            while True:
                kind, body = await _message(reader)
                if kind == OPEN:
                    writer.write(_framed(KEEPALIVE, b""))
                    beat = asyncio.create_task(_beat(writer))
                elif kind == KEEPALIVE and server not in self.tables:
                    self.tables[server] = set()
                    writer.write(self._route() + _framed(UPDATE, _attributes(_attribute(0x80, MP_UNREACH, VPLS))))
                elif kind == UPDATE:
                    self._update(server, body)
                elif kind == NOTIFICATION:
                    return
        finally:
            if beat:
                beat.cancel()

    def _update(self, server: str, body: bytes) -> None:
        withdrawn = struct.unpack_from("!H", body)[0]
        rest = body[4 + withdrawn :]
        while rest:
            flags, kind = rest[0], rest[1]
            length, start = (struct.unpack_from("!H", rest, 2)[0], 4) if flags & 0x10 else (rest[2], 3)
            value, rest = rest[start : start + length], rest[start + length :]
            if kind == MP_REACH:
                for ve_id in _sites(value[5 + value[3] :]):
                    if (server, ve_id) in self.forbidden:
                        self.wrong.append(f"{self.name} got VE {ve_id} of {server} at {time.monotonic():.3f}")
                    self.tables[server].add(ve_id)
            elif kind == MP_UNREACH:
                self._forget(server, set(_sites(value[3:])))

    def _forget(self, server: str, ve_ids: set[int]) -> None:
        self.tables.get(server, set()).difference_update(ve_ids)
        for ve_id in (ve_ids & self.needed) - self.known:
            self.wrong.append(f"{self.name} lost VE {ve_id} with {server} at {time.monotonic():.3f}")

    def _open(self) -> bytes:
        capabilities = struct.pack("!BBHBB", 1, 4, 25, 0, 65) + struct.pack("!BBI", 65, 4, ASN)
        parameter = struct.pack("!BB", 2, len(capabilities)) + capabilities
        fixed = struct.pack("!BHH4sB", 4, ASN, HOLD, _packed(self.address), len(parameter))
        return _framed(OPEN, fixed + parameter)

    def _route(self) -> bytes:
        nlri = struct.pack("!8sHHH3s", _pair(0, self.rd), self.ve_id, 1, 64, (4097 << 4 | 1).to_bytes(3, "big"))
        reach = VPLS + struct.pack("!B4sB", 4, _packed(self.address), 0) + struct.pack("!H", len(nlri)) + nlri
        layer2 = struct.pack("!BBBBHH", 0x80, 0x0A, 19, 0, 1450, 0)
        return _framed(
            UPDATE,
            _attributes(
                _attribute(0x80, MP_REACH, reach),
                _attribute(0x40, 1, b"\0"),
                _attribute(0x40, 2, b""),
                _attribute(0x40, 5, struct.pack("!I", 100)),
                _attribute(0xC0, 16, layer2 + _pair(2, self.rt)),
            ),
        )


async def _message(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    header = await reader.readexactly(19)
    length, kind = struct.unpack_from("!HB", header, 16)
    return kind, await reader.readexactly(length - 19)


async def _beat(writer: asyncio.StreamWriter) -> None:
    while True:
        await asyncio.sleep(HOLD / 3)
        writer.write(_framed(KEEPALIVE, b""))


def _sites(nlri: bytes) -> list[int]:
    """Return the VE IDs of VPLS NLRI: length, RD, VE ID, offset, size, label base."""
    return [struct.unpack_from("!H", nlri, at + 10)[0] for at in range(0, len(nlri), 19)]


def _pair(kind: int, text: str) -> bytes:
    """Encode a route distinguisher (kind 0) or route target (kind 2) of the form AS:number."""
    asn, number = text.split(":")
    return struct.pack("!HHI", kind, int(asn), int(number))


def _packed(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack("!BBB", flags, kind, len(value)) + value


def _attributes(*attributes: bytes) -> bytes:
    joined = b"".join(attributes)
    return struct.pack("!HH", 0, len(joined)) + joined


def _framed(kind: int, body: bytes) -> bytes:
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body
