"""The request in a client's message and the answer (RFC 2131 section 4.3). Pure: the server asks the plan in between.

The server is authoritative for its LAN: it refuses (NAK) a client that insists on an address of another LAN, and the
client starts again. In this way a device that came from another cloudlet gets its address here at once.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from agents.dhcp.v4.message import Message, MessageType, Option
from agents.dhcp.v4.settings import LanSettings, options
from controller.wire.leases import LeaseGrant

_NOWHERE = IPv4Address(0)
_LIMITED_BROADCAST = IPv4Address("255.255.255.255")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", re.ASCII)
_LONGEST_CLIENT_ID = 255  # octets of one option (RFC 2132, section 9.14); no client needs several parts
_LONGEST_LEASE = 2**32 - 1  # seconds; means infinity in the protocol


@dataclass(frozen=True)
class Ask:
    """Ask the plan, then answer with `kind`; a REQUEST gets an ACK only for the address that it `insists` on.
    `renewing`: the client uses that address now."""

    kind: MessageType
    hint: IPv4Address | None
    insists: bool
    renewing: bool = False


@dataclass(frozen=True)
class GiveBack:
    """The client returns `address`."""

    address: IPv4Address


@dataclass(frozen=True)
class Declined:
    """The client found that another machine uses `address`: nobody gets it for a time, and users are told."""

    address: IPv4Address


@dataclass(frozen=True)
class Inform:
    """The client has an address and asks for the settings."""


@dataclass(frozen=True)
class Refuse:
    """Answer NAK without asking the plan."""

    reason: str


@dataclass(frozen=True)
class Ignore:
    """Give no answer: the message is not for this server."""

    reason: str


Step = Ask | GiveBack | Declined | Inform | Refuse | Ignore


def decide(message: Message, lan: LanSettings) -> Step:
    """Return the first step: the request that this message makes to this server."""
    if message.op != 1:
        return Ignore("a reply")
    if message.giaddr != _NOWHERE:
        return Ignore("relayed; this server serves its own LAN only")
    if message.mac == bytes(6) or message.mac[0] & 1:
        return Ignore("the client's address is not a station's")
    if len(message.options.get(Option.CLIENT_ID, b"")) > _LONGEST_CLIENT_ID:
        return Ignore("a client identifier of more than 255 octets")
    server = message.options.get(Option.SERVER_ID)
    if server is not None and server != lan.gateway.packed:
        return Ignore("for another server")
    requested = message.address(Option.REQUESTED_ADDRESS)
    match message.kind:
        case MessageType.DISCOVER:
            return Ask(MessageType.OFFER, requested if requested and requested in lan.prefix else None, insists=False)
        case MessageType.REQUEST:
            return _request(requested, message.ciaddr, lan)
        case MessageType.RELEASE if message.ciaddr in lan.prefix:
            return GiveBack(message.ciaddr)
        case MessageType.DECLINE if requested and requested in lan.prefix:
            return Declined(requested)
        case MessageType.INFORM if message.ciaddr in lan.prefix:
            return Inform()
    return Ignore(f"{message.kind.name} without an address of this LAN")


def _request(requested: IPv4Address | None, ciaddr: IPv4Address, lan: LanSettings) -> Step:
    """Return the step for a REQUEST. SELECTING and INIT-REBOOT name the address in option 50, RENEWING and REBINDING in
    ciaddr."""
    wanted = requested or ciaddr
    if wanted == _NOWHERE:
        return Ignore("REQUEST without an address")
    if wanted not in lan.prefix:
        return Refuse(f"{wanted} is not in {lan.prefix}")
    return Ask(MessageType.ACK, wanted, insists=True, renewing=ciaddr != _NOWHERE)


def answer(message: Message, ask: Ask, grant: LeaseGrant, lan: LanSettings) -> Message:
    """Return an OFFER or ACK with the granted address, or a NAK when it is not the address on which the client insists.

    Raises ValueError when the grant is no address of this LAN, which is an error of the plan, not of the client.
    """
    address = IPv4Address(grant.address)
    if address not in lan.prefix or address == lan.gateway:
        raise ValueError(f"the plan granted {address}, which is not a client's address in {lan.prefix}")
    if ask.insists and address != ask.hint:
        return nak(message, lan, f"{ask.hint} is not this client's address")
    seconds = max(1, min(grant.seconds, _LONGEST_LEASE))
    times: dict[int, bytes] = {
        Option.LEASE_TIME: struct.pack("!I", seconds),
        Option.RENEWAL_TIME: struct.pack("!I", seconds // 2),
        Option.REBINDING_TIME: struct.pack("!I", seconds * 7 // 8),
    }
    ciaddr = message.ciaddr if ask.kind is MessageType.ACK else _NOWHERE
    return _reply(message, lan, ask.kind, times | options(lan), ciaddr=ciaddr, yiaddr=address)


def inform(message: Message, lan: LanSettings) -> Message:
    """Return the ACK to an INFORM: the settings, no lease."""
    return _reply(message, lan, MessageType.ACK, options(lan), ciaddr=message.ciaddr)


def nak(message: Message, lan: LanSettings, reason: str) -> Message:
    """Return a NAK with the reason (option 56)."""
    return _reply(message, lan, MessageType.NAK, {Option.MESSAGE: reason.encode()[:255]})


def destination(request: Message, reply: Message) -> tuple[bytes, IPv4Address]:
    """Return the Ethernet and IP addresses to which the reply goes (RFC 2131 section 4.1)."""
    if reply.kind is not MessageType.NAK:
        if request.ciaddr != _NOWHERE:
            return request.mac, request.ciaddr
        if not request.broadcast:
            return request.mac, reply.yiaddr
    return b"\xff" * 6, _LIMITED_BROADCAST


def host_name(message: Message) -> str | None:
    """Return the client's host name (option 12). None if the value is no host name: clients can put anything there."""
    name = message.options.get(Option.HOST_NAME, b"").rstrip(b"\0").decode("ascii", errors="replace")
    return name if _HOST_NAME.fullmatch(name) else None


def _reply(
    message: Message,
    lan: LanSettings,
    kind: MessageType,
    carries: Mapping[int, bytes],
    ciaddr: IPv4Address = _NOWHERE,
    yiaddr: IPv4Address = _NOWHERE,
) -> Message:
    """Return a reply with the request's identifiers. It repeats the client id unchanged (RFC 6842). Its last option is
    the one that an access point or switch added (RFC 3046, section 2.2), which it may do without relaying."""
    carried: dict[int, bytes] = {Option.SERVER_ID: lan.gateway.packed, **carries}
    for code in (Option.CLIENT_ID, Option.RELAY_AGENT):
        if code in message.options:
            carried[code] = message.options[code]
    return Message(
        op=2,
        xid=message.xid,
        mac=message.mac,
        kind=kind,
        broadcast=message.broadcast,
        ciaddr=ciaddr,
        yiaddr=yiaddr,
        options=carried,
    )
