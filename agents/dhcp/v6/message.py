"""DHCPv6 messages on the wire (RFC 8415, sections 8 and 21)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv6Address

_HEAD = struct.Struct("!HH")
_ADDRESS = struct.Struct("!16sII")
_DUID = range(3, 131)  # octets: a type and at least one more, at most 128 (section 11.1)


class MessageError(ValueError):
    """Raised for bytes that are no DHCPv6 message of a client or server. The text says why."""


class MessageType(IntEnum):
    """Message types (section 7.3), without those of relays."""

    SOLICIT = 1
    ADVERTISE = 2
    REQUEST = 3
    CONFIRM = 4
    RENEW = 5
    REBIND = 6
    REPLY = 7
    RELEASE = 8
    DECLINE = 9
    RECONFIGURE = 10
    INFORMATION_REQUEST = 11


class Option(IntEnum):
    """The options this server reads or writes."""

    CLIENT_ID = 1
    SERVER_ID = 2
    IA_NA = 3
    IA_TA = 4
    IA_ADDRESS = 5
    OPTION_REQUEST = 6
    PREFERENCE = 7
    STATUS = 13
    RAPID_COMMIT = 14
    DNS_SERVERS = 23
    DOMAIN_LIST = 24
    IA_PD = 25
    SNTP_SERVERS = 31
    CLIENT_FQDN = 39
    NTP_SERVER = 56


class Status(IntEnum):
    """Status codes (section 21.13)."""

    SUCCESS = 0
    UNSPECIFIED = 1
    NO_ADDRESSES = 2
    NO_BINDING = 3
    NOT_ON_LINK = 4
    USE_MULTICAST = 5
    NO_PREFIXES = 6


_IAS = (Option.IA_NA, Option.IA_TA, Option.IA_PD)


@dataclass(frozen=True)
class Lifetimes:
    """An address with its preferred and valid lifetimes in seconds; in what a client sends, they are hints."""

    address: IPv6Address
    preferred: int = 0
    valid: int = 0


@dataclass(frozen=True)
class Outcome:
    """A status code with its text for users."""

    status: Status
    text: str = ""


@dataclass(frozen=True)
class Association:
    """An identity association (sections 21.4, 21.5 and 21.21): `option` is its type, `number` is the client's IAID.
    `renew` and `rebind` are T1 and T2 in seconds. Prefixes are not stored, as this server gives out none."""

    option: Option
    number: int
    renew: int = 0
    rebind: int = 0
    addresses: tuple[Lifetimes, ...] = ()
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Message:
    """One message. `transaction` has 24 bits; `client` and `server` are DUIDs as they came; `others` are the options
    that have no field here, as raw octets in their order."""

    kind: MessageType
    transaction: int
    client: bytes | None = None
    server: bytes | None = None
    associations: tuple[Association, ...] = ()
    outcome: Outcome | None = None
    others: tuple[tuple[int, bytes], ...] = ()

    def option(self, code: Option) -> bytes | None:
        """Return the first of `others` with this code."""
        return next((value for found, value in self.others if found == code), None)


def decode(data: bytes) -> Message:
    """Read a message. Raises MessageError. Of options that may occur once, the first one counts."""
    if len(data) < 4:
        raise MessageError(f"{len(data)} octets are too few")
    if data[0] not in MessageType._value2member_map_:
        raise MessageError(f"message type {data[0]}")
    ids: dict[int, bytes] = {}
    associations, others = [], []
    outcome = None
    for code, value in _options(data[4:]):
        if code in (Option.CLIENT_ID, Option.SERVER_ID):
            if len(value) not in _DUID:
                raise MessageError(f"a DUID of {len(value)} octets")
            ids.setdefault(code, value)
        elif code in _IAS:
            associations.append(_association(Option(code), value))
        elif code == Option.STATUS:
            outcome = outcome or _outcome(value)
        else:
            others.append((code, value))
    return Message(
        kind=MessageType(data[0]),
        transaction=int.from_bytes(data[1:4], "big"),
        client=ids.get(Option.CLIENT_ID),
        server=ids.get(Option.SERVER_ID),
        associations=tuple(associations),
        outcome=outcome,
        others=tuple(others),
    )


def encode(message: Message) -> bytes:
    """Return the message's octets. Raises ValueError when an option is longer than 65,535 octets."""
    parts = [bytes((message.kind,)) + message.transaction.to_bytes(3, "big")]
    for code, duid in ((Option.CLIENT_ID, message.client), (Option.SERVER_ID, message.server)):
        if duid is not None:
            parts.append(_option(code, duid))
    if message.outcome is not None:
        parts.append(_outcome_option(message.outcome))
    parts += [_option(code, value) for code, value in message.others]
    parts += [_association_option(association) for association in message.associations]
    return b"".join(parts)


def _options(field: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(field):
        if at + _HEAD.size > len(field):
            raise MessageError("an option's head runs past the end")
        code, length = _HEAD.unpack_from(field, at)
        at += _HEAD.size
        if at + length > len(field):
            raise MessageError(f"option {code} runs past the end")
        yield code, field[at : at + length]
        at += length


def _option(code: int, value: bytes) -> bytes:
    if len(value) > 0xFFFF:
        raise ValueError(f"option {code}: {len(value)} octets are too many")
    return _HEAD.pack(code, len(value)) + value


def _association(option: Option, value: bytes) -> Association:
    head = 4 if option is Option.IA_TA else 12
    if len(value) < head:
        raise MessageError(f"option {option.name} of {len(value)} octets")
    number, renew, rebind = struct.unpack("!III", value[:head].ljust(12, b"\0"))
    addresses = []
    outcome = None
    for code, inner in _options(value[head:]):
        if code == Option.IA_ADDRESS and option is not Option.IA_PD:
            if len(inner) < _ADDRESS.size:
                raise MessageError(f"an address option of {len(inner)} octets")
            address, preferred, valid = _ADDRESS.unpack_from(inner)
            addresses.append(Lifetimes(IPv6Address(address), preferred, valid))
        elif code == Option.STATUS:
            outcome = outcome or _outcome(inner)
    return Association(option, number, renew, rebind, tuple(addresses), outcome)


def _association_option(association: Association) -> bytes:
    value = struct.pack("!I", association.number)
    if association.option is not Option.IA_TA:
        value += struct.pack("!II", association.renew, association.rebind)
    for one in association.addresses:
        value += _option(Option.IA_ADDRESS, _ADDRESS.pack(one.address.packed, one.preferred, one.valid))
    if association.outcome is not None:
        value += _outcome_option(association.outcome)
    return _option(association.option, value)


def _outcome(value: bytes) -> Outcome:
    if len(value) < 2:
        raise MessageError("a status without its code")
    number = int.from_bytes(value[:2], "big")
    status = Status(number) if number in Status._value2member_map_ else Status.UNSPECIFIED
    return Outcome(status, value[2:].decode(errors="replace"))


def _outcome_option(outcome: Outcome) -> bytes:
    return _option(Option.STATUS, struct.pack("!H", outcome.status) + outcome.text.encode())
