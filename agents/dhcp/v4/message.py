"""DHCPv4 messages on the wire (RFC 2131 section 2, options RFC 2132 and RFC 3396)."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv4Address

_FIXED = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s4s")
_COOKIE = b"\x63\x82\x53\x63"
_SHORTEST = 300  # octets, from BOOTP; some relays and clients still insist on it (RFC 1542 section 2.1)
_BROADCAST = 0x8000
_PAD, _END = 0, 255
_NOWHERE = IPv4Address(0)


class MessageError(ValueError):
    """Raised for bytes that are no DHCP message. The text says why."""


class MessageType(IntEnum):
    """DHCP message types (RFC 2132 section 9.6)."""

    DISCOVER = 1
    OFFER = 2
    REQUEST = 3
    DECLINE = 4
    ACK = 5
    NAK = 6
    RELEASE = 7
    INFORM = 8


class Option(IntEnum):
    """The options this server reads or writes."""

    SUBNET_MASK = 1
    ROUTER = 3
    DNS_SERVERS = 6
    HOST_NAME = 12
    DOMAIN_NAME = 15
    INTERFACE_MTU = 26
    BROADCAST_ADDRESS = 28
    NTP_SERVERS = 42
    REQUESTED_ADDRESS = 50
    LEASE_TIME = 51
    OVERLOAD = 52
    MESSAGE_TYPE = 53
    SERVER_ID = 54
    MESSAGE = 56
    RENEWAL_TIME = 58
    REBINDING_TIME = 59
    CLIENT_ID = 61
    RELAY_AGENT = 82
    DOMAIN_SEARCH = 119
    CLASSLESS_ROUTES = 121


@dataclass(frozen=True)
class Message:
    """One message. `mac` is the client's Ethernet address (chaddr), 6 octets; options are raw octets by code."""

    op: int
    xid: int
    mac: bytes
    kind: MessageType
    broadcast: bool = False
    secs: int = 0
    ciaddr: IPv4Address = _NOWHERE
    yiaddr: IPv4Address = _NOWHERE
    siaddr: IPv4Address = _NOWHERE
    giaddr: IPv4Address = _NOWHERE
    options: Mapping[int, bytes] = field(default_factory=dict)

    def address(self, code: Option) -> IPv4Address | None:
        """Return the option as an address; None when it is absent or has another length."""
        value = self.options.get(code, b"")
        return IPv4Address(value) if len(value) == 4 else None

    def __str__(self) -> str:
        return self.kind.name


def decode(data: bytes) -> Message:
    """Read a message. Raises MessageError. Unknown options are kept as they are."""
    if len(data) < _FIXED.size:
        raise MessageError(f"{len(data)} octets are too few")
    op, htype, hlen, _, xid, secs, flags, ci, yi, si, gi, chaddr, sname, file, cookie = _FIXED.unpack_from(data)
    if cookie != _COOKIE:
        raise MessageError("no DHCP cookie: BOOTP, or not DHCP at all")
    if op not in (1, 2):
        raise MessageError(f"op {op} is neither request nor reply")
    if (htype, hlen) != (1, 6):
        raise MessageError(f"hardware type {htype} of length {hlen} is not Ethernet")
    options: dict[int, bytes] = {}
    _read_options(data[_FIXED.size :], options)
    overload = options.pop(Option.OVERLOAD, b"\0")[:1]
    if overload in (b"\1", b"\3"):
        _read_options(file, options)
    if overload in (b"\2", b"\3"):
        _read_options(sname, options)
    kind = options.pop(Option.MESSAGE_TYPE, b"")
    if len(kind) != 1 or kind[0] not in MessageType._value2member_map_:
        raise MessageError(f"message type {kind.hex() or 'missing'}")
    return Message(
        op=op,
        xid=xid,
        mac=chaddr[:6],
        kind=MessageType(kind[0]),
        broadcast=bool(flags & _BROADCAST),
        secs=secs,
        ciaddr=IPv4Address(ci),
        yiaddr=IPv4Address(yi),
        siaddr=IPv4Address(si),
        giaddr=IPv4Address(gi),
        options=options,
    )


def encode(message: Message) -> bytes:
    """Return the message's octets. An option of more than 255 octets comes in parts (RFC 3396)."""
    fixed = _FIXED.pack(
        message.op,
        1,
        6,
        0,
        message.xid,
        message.secs,
        _BROADCAST if message.broadcast else 0,
        message.ciaddr.packed,
        message.yiaddr.packed,
        message.siaddr.packed,
        message.giaddr.packed,
        message.mac,
        b"",
        b"",
        _COOKIE,
    )
    body = bytearray((Option.MESSAGE_TYPE, 1, message.kind))
    for code, value in message.options.items():
        for at in range(0, max(len(value), 1), 255):
            part = value[at : at + 255]
            body += bytes((code, len(part))) + part
    body.append(_END)
    return (fixed + body).ljust(_SHORTEST, b"\0")


def _read_options(field: bytes, into: dict[int, bytes]) -> None:
    """Add the options of a field to `into`; join an option that comes in parts (RFC 3396)."""
    at = 0
    while at < len(field) and field[at] != _END:
        code = field[at]
        if code == _PAD:
            at += 1
            continue
        if at + 2 > len(field) or at + 2 + field[at + 1] > len(field):
            raise MessageError(f"option {code} runs past the end")
        length = field[at + 1]
        into[code] = into.get(code, b"") + field[at + 2 : at + 2 + length]
        at += 2 + length
