"""The request in a client's message and the answer (RFC 8415, sections 16 and 18.3). Pure: the server asks the plan in
between.

A machine has one address here: the first of its associations for addresses gets it, the others get nothing. The server
stores no bindings: it asks the plan every time who holds which address.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal

from agents.dhcp.v6.message import Association, Lifetimes, Message, MessageType, Option, Outcome, Status
from agents.dhcp.v6.settings import options
from controller.wire.host_settings import NO_SETTINGS, HostSettings
from controller.wire.leases import LeaseGrant

_LONGEST_LEASE = 2**32 - 2  # seconds; one more would mean infinity in the protocol
_MOST_ASSOCIATIONS = 8  # associations that one answer covers
_NO_WAIT = b"\xff"  # the highest preference: the LAN has no other server, so clients need not wait for one
_LABEL = re.compile(rb"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")

_TO_ANYBODY = (MessageType.SOLICIT, MessageType.CONFIRM, MessageType.REBIND)
_TO_ONE = (MessageType.REQUEST, MessageType.RENEW, MessageType.RELEASE, MessageType.DECLINE)


@dataclass(frozen=True)
class LanSettings6:
    """The settings of a LAN. `duid` is the server's own. An address of a pair has the same offset in `prefix6` as in
    `prefix`. `hosts`: the policy's settings for clients."""

    duid: bytes
    prefix: IPv4Network
    prefix6: IPv6Network
    hosts: HostSettings = NO_SETTINGS

    @classmethod
    def of(cls, mac: str, prefix: str, prefix6: str, hosts: HostSettings = NO_SETTINGS) -> "LanSettings6":
        """Return the settings of the LAN whose bridge has that MAC. The DUID follows from the MAC (DUID-LL), so that it
        is the same after a restart."""
        duid = b"\0\3\0\1" + bytes.fromhex(mac.replace(":", ""))
        return cls(duid, IPv4Network(prefix), IPv6Network(prefix6), hosts)

    def address6(self, grant: LeaseGrant) -> IPv6Address:
        """Return the IPv6 address that belongs to the granted IPv4 address. Raises ValueError when there is none, which
        is an error of the plan, not of the client."""
        offset = int(IPv4Address(grant.address)) - int(self.prefix.network_address)
        if not 2 <= offset < min(self.prefix.num_addresses, self.prefix6.num_addresses) - 2:
            raise ValueError(f"the plan granted {grant.address}, to which no address of {self.prefix6} belongs")
        return self.prefix6[offset]

    def address4(self, address: IPv6Address) -> str | None:
        """Return the IPv4 address that belongs to an IPv6 address of a pair; None for any other address."""
        offset = int(address) - int(self.prefix6.network_address)
        return str(self.prefix[offset]) if 2 <= offset < self.prefix.num_addresses - 2 else None


@dataclass(frozen=True)
class Ask:
    """Ask the plan, for `hint` if the client wants a certain address, then answer with `kind`."""

    kind: Literal[MessageType.ADVERTISE, MessageType.REPLY]
    hint: IPv6Address | None


@dataclass(frozen=True)
class GiveBack:
    """The client returns `addresses`. The answer is `reply`."""

    addresses: tuple[IPv6Address, ...]
    reply: Message


@dataclass(frozen=True)
class Declined:
    """The client found that another machine uses `addresses`: nobody gets them for a time, and users are told. The
    answer is `reply`."""

    addresses: tuple[IPv6Address, ...]
    reply: Message


@dataclass(frozen=True)
class Answer:
    """Answer without asking the plan."""

    reply: Message


@dataclass(frozen=True)
class Ignore:
    """Give no answer: the message is not for this server, or not valid."""

    reason: str


Step = Ask | GiveBack | Declined | Answer | Ignore


def decide(message: Message, lan: LanSettings6, multicast: bool) -> Step:
    """Return the first step: the request that this message makes to this server. `multicast` says how it came."""
    if reason := _invalid(message, lan, multicast):
        return Ignore(reason)
    if not multicast:
        return Answer(_reply(message, lan, outcome=Outcome(Status.USE_MULTICAST, "write to ff02::1:2")))
    hints = tuple(one.address for association in _for_addresses(message) for one in association.addresses)
    here = tuple(address for address in hints if address in lan.prefix6)
    match message.kind:
        case MessageType.SOLICIT | MessageType.REQUEST | MessageType.RENEW | MessageType.REBIND if (
            not message.associations
        ):
            return Ignore(f"{message.kind.name} without an association")
        case MessageType.SOLICIT | MessageType.REQUEST | MessageType.RENEW | MessageType.REBIND if not _for_addresses(
            message
        ):
            # Prefixes and temporary addresses alone: the client asked for nothing that can be leased.
            return Answer(refuse(message, "only addresses are given out", lan))
        case MessageType.SOLICIT:
            rapid = message.option(Option.RAPID_COMMIT) is not None
            return Ask(MessageType.REPLY if rapid else MessageType.ADVERTISE, here[0] if here else None)
        case MessageType.REQUEST if hints and not here:
            return Answer(_reply(message, lan, associations=_not_on_link(message, lan)))
        case MessageType.REQUEST | MessageType.RENEW | MessageType.REBIND:
            return Ask(MessageType.REPLY, here[0] if here else None)
        case MessageType.CONFIRM if not hints:
            return Ignore("CONFIRM without an address")
        case MessageType.CONFIRM if len(here) < len(hints):
            text = f"{_text(set(hints) - set(here))} is not in {lan.prefix6}"
            return Answer(_reply(message, lan, outcome=Outcome(Status.NOT_ON_LINK, text)))
        case MessageType.CONFIRM:
            return Answer(_reply(message, lan, outcome=Outcome(Status.SUCCESS)))
        case MessageType.RELEASE | MessageType.DECLINE:
            unknown = tuple(
                Association(a.option, a.number, outcome=Outcome(Status.NO_BINDING, "not of this LAN"))
                for a in _first(message)
                if not any(one.address in lan.prefix6 for one in a.addresses)
            )
            reply = _reply(message, lan, associations=unknown, outcome=Outcome(Status.SUCCESS))
            return GiveBack(here, reply) if message.kind is MessageType.RELEASE else Declined(here, reply)
        case _:
            return Answer(_reply(message, lan))


def _invalid(message: Message, lan: LanSettings6, multicast: bool) -> str | None:
    """Return why a message must be discarded (section 16); None if it is valid."""
    if message.kind not in (*_TO_ANYBODY, *_TO_ONE, MessageType.INFORMATION_REQUEST):
        return "for a client"
    if message.client is None and message.kind is not MessageType.INFORMATION_REQUEST:
        return f"{message.kind.name} without a client's DUID"
    if message.kind in _TO_ANYBODY and message.server is not None:
        return f"{message.kind.name} with a server's DUID"
    if message.kind in _TO_ONE and message.server is None:
        return f"{message.kind.name} without a server's DUID"
    if message.server is not None and message.server != lan.duid:
        return "for another server"
    if message.kind is MessageType.INFORMATION_REQUEST and message.associations:
        return "INFORMATION_REQUEST with an association"
    if not multicast and message.kind not in _TO_ONE:
        return f"{message.kind.name} to one address"
    return None


def answer(message: Message, ask: Ask, grant: LeaseGrant, lan: LanSettings6) -> Message:
    """Return an ADVERTISE or REPLY with the granted address. Other addresses that the client has end (lifetimes 0)."""
    address = lan.address6(grant)
    seconds = max(1, min(grant.seconds, _LONGEST_LEASE))

    def granted(association: Association) -> Association:
        old = {one.address for one in association.addresses} - {address} if message.kind in _EXTENDS else set()
        addresses = (Lifetimes(address, seconds, seconds), *(Lifetimes(other) for other in sorted(old)))
        # T1 and T2 as RFC 8415, section 21.4 recommends.
        return Association(association.option, association.number, seconds // 2, seconds * 4 // 5, addresses)

    others = (
        ((Option.RAPID_COMMIT, b""),) if message.kind is MessageType.SOLICIT and ask.kind is MessageType.REPLY else ()
    )
    return _reply(message, lan, ask.kind, _filled(message, granted), others=others)


def refuse(message: Message, reason: str, lan: LanSettings6) -> Message:
    """Return the answer when the plan has nothing for this client: no binding for a renewal, else no address."""
    status = Status.NO_BINDING if message.kind in _EXTENDS else Status.NO_ADDRESSES
    kind = MessageType.ADVERTISE if message.kind is MessageType.SOLICIT else MessageType.REPLY

    def refused(association: Association) -> Association:
        return Association(association.option, association.number, outcome=Outcome(status, reason))

    return _reply(message, lan, kind, _filled(message, refused))


_EXTENDS = (MessageType.RENEW, MessageType.REBIND)


def host_name(message: Message) -> str | None:
    """Return the host part of the client's name (option 39, RFC 4704); None if the value is no name."""
    value = message.option(Option.CLIENT_FQDN) or b""
    label = value[2 : 2 + value[1]] if len(value) > 1 else b""
    return label.decode() if _LABEL.fullmatch(label) and len(label) == value[1] else None


def _filled(message: Message, fill: Callable[[Association], Association]) -> tuple[Association, ...]:
    """Return the client's associations: the first one for addresses filled in by `fill`, the others refused."""
    filled = []
    chosen = next(iter(_for_addresses(message)), None)
    for association in _first(message):
        if association is chosen:
            filled.append(fill(association))
            continue
        prefix = association.option is Option.IA_PD
        status = Status.NO_PREFIXES if prefix else Status.NO_ADDRESSES
        text = "no prefixes are given out" if prefix else "one address for each machine"
        filled.append(Association(association.option, association.number, outcome=Outcome(status, text)))
    return tuple(filled)


def _not_on_link(message: Message, lan: LanSettings6) -> tuple[Association, ...]:
    def refused(association: Association) -> Association:
        text = f"{_text({one.address for one in association.addresses})} is not in {lan.prefix6}"
        return Association(association.option, association.number, outcome=Outcome(Status.NOT_ON_LINK, text))

    return _filled(message, refused)


def _text(addresses: set[IPv6Address]) -> str:
    return str(min(addresses, default="nothing"))


def _first(message: Message) -> tuple[Association, ...]:
    return message.associations[:_MOST_ASSOCIATIONS]


def _for_addresses(message: Message) -> list[Association]:
    """Return the associations that can have a lease: not those for prefixes or temporary addresses."""
    return [association for association in _first(message) if association.option is Option.IA_NA]


def _reply(
    message: Message,
    lan: LanSettings6,
    kind: MessageType = MessageType.REPLY,
    associations: tuple[Association, ...] = (),
    outcome: Outcome | None = None,
    others: tuple[tuple[int, bytes], ...] = (),
) -> Message:
    others = (*others, *options(message, lan.hosts))
    if kind is MessageType.ADVERTISE:
        others = ((Option.PREFERENCE, _NO_WAIT), *others)
    return Message(kind, message.transaction, message.client, lan.duid, associations, outcome, others)
