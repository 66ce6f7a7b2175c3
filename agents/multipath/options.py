"""Multipath TCP's options in a TCP header (RFC 8684, section 3; numbers in section 8). Pure.

Tokens, randoms and addresses are read from the option. HMACs and keys are skipped, as nobody here can check them
without the keys of the connection.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal

KIND = 30
"""The TCP option kind of all Multipath TCP options."""

_CAPABLE, _JOIN, _DSS, _ADD, _REMOVE, _PRIO = range(6)


class OptionError(ValueError):
    """Raised when options contradict themselves: one is cut short, or has an impossible length."""


@dataclass(frozen=True)
class Capable:
    """MP_CAPABLE (3.1): a first subflow is being made, or was. `keys` is how many of the two keys the option has."""

    version: int
    keys: int


@dataclass(frozen=True)
class Join:
    """MP_JOIN (3.2): a further subflow. `phase` says which of its three packets this is. `token` is in the first packet
    only; `random`, `address_id` and `backup` are in the first two."""

    phase: Literal["syn", "synack", "ack"]
    address_id: int | None = None
    backup: bool = False
    token: int | None = None
    random: int | None = None


@dataclass(frozen=True)
class Data:
    """DSS (3.3): data acknowledged, sent, or ended on the connection."""

    acknowledges: bool
    maps: bool
    fin: bool


@dataclass(frozen=True)
class AddAddress:
    """ADD_ADDR (3.4.1): the sender has this address too; an `echo` confirms that the option has arrived."""

    address_id: int
    address: IPv4Address | IPv6Address
    port: int | None
    echo: bool


@dataclass(frozen=True)
class RemoveAddress:
    """REMOVE_ADDR (3.4.2): the sender's addresses with these IDs are gone."""

    address_ids: tuple[int, ...]


@dataclass(frozen=True)
class Priority:
    """MP_PRIO (3.3.8): the sender wants this subflow as backup, or as a full one again."""

    backup: bool


@dataclass(frozen=True)
class Other:
    """MP_FAIL, MP_FASTCLOSE, MP_TCPRST, and unknown options, by the number of the subtype."""

    subtype: int


Option = Capable | Join | Data | AddAddress | RemoveAddress | Priority | Other

# By the option's length. ADD_ADDR: octets of the address, whether there is a port, whether it is an echo (no HMAC).
# MP_CAPABLE: the number of keys.
_ADDRESSES = {
    8: (4, False, True),
    10: (4, True, True),
    16: (4, False, False),
    18: (4, True, False),
    20: (16, False, True),
    22: (16, True, True),
    28: (16, False, False),
    30: (16, True, False),
}
_KEYS = {4: 0, 12: 1, 20: 2, 22: 2, 24: 2}


def options(field: bytes) -> Iterator[Option]:
    """Yield the options of Multipath TCP in a TCP header's option field. Raises OptionError."""
    at = 0
    while at < len(field) and field[at] != 0:
        if field[at] == 1:
            at += 1
            continue
        if at + 2 > len(field) or not 2 <= field[at + 1] <= len(field) - at:
            raise OptionError(f"option {field[at]} has no length, or one beyond the header")
        if field[at] == KIND:
            yield option(field[at : at + field[at + 1]])
        at += field[at + 1]


def option(data: bytes) -> Option:
    """Return one option, given with its kind and length. Raises OptionError."""
    length = len(data)
    if length < 3 or data[0] != KIND or data[1] != length:
        raise OptionError(f"{length} octets are not an option of kind {KIND}")
    subtype, low = data[2] >> 4, data[2] & 0x0F
    if subtype == _CAPABLE and length in _KEYS:
        return Capable(low, _KEYS[length])
    if subtype == _JOIN and length in (12, 16, 24):
        return _join(data, low)
    if subtype == _DSS and length >= 4:
        return Data(bool(data[3] & 0x01), bool(data[3] & 0x04), bool(data[3] & 0x10))
    if subtype == _ADD and length in _ADDRESSES and _ADDRESSES[length][2] == bool(low & 1):
        size, has_port, echo = _ADDRESSES[length]
        port = int.from_bytes(data[4 + size : 6 + size]) if has_port else None
        address = ip_address(data[4 : 4 + size])
        return AddAddress(data[3], address, port, echo)
    if subtype == _REMOVE and length >= 4:
        return RemoveAddress(tuple(data[3:]))
    if subtype == _PRIO and length in (3, 4):
        return Priority(bool(low & 1))
    if subtype > _PRIO:
        return Other(subtype)
    raise OptionError(f"subtype {subtype} of Multipath TCP cannot have {length} octets")


def _join(data: bytes, low: int) -> Join:
    if len(data) == 24:
        return Join("ack")
    token_or_hmac, random = struct.unpack_from("!II" if len(data) == 12 else "!QI", data, 4)
    if len(data) == 16:
        return Join("synack", data[3], bool(low & 1), random=random)
    return Join("syn", data[3], bool(low & 1), token_or_hmac, random)
