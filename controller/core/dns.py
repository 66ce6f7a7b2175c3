"""DNS records of what is leased (RFC 1035, section 5), to be included in a zone of the operator's own. Pure.

A device is `DEVICE.ENDPOINT`, its VM `DEVICE-vm.ENDPOINT`: names that operators gave, for what a client calls itself is
not to be trusted with a name. A device that holds leases at two LANs has a name in each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, ip_address

from controller.core.addresses import Address, Kind

TTL = 60
"""Seconds that resolvers may keep a record: a device that walks on has another address in less than a lease time."""

LABEL = 63
"""Octets that a label may have (RFC 1035, section 2.3.4)."""


class Form(StrEnum):
    """`zone`: addresses by name; `reverse`: names by address, with whole owner names; `hosts`: as in /etc/hosts."""

    ZONE = "zone"
    REVERSE = "reverse"
    HOSTS = "hosts"


@dataclass(frozen=True)
class Held:
    """A live lease, as DNS sees it."""

    device: str
    kind: Kind
    endpoint: str
    addresses: tuple[str, ...]


def name(held: Held) -> str:
    """The name below the origin. A device's name too long to carry `-vm` is cut; two that then clash share a name."""
    return f"{held.device if held.kind == 'md' else held.device[: LABEL - 3] + '-vm'}.{held.endpoint}"


def heading(form: Form, origin: str) -> str:
    """What comes first. `origin` is the domain without a dot at its end."""
    if form is Form.HOSTS:
        return "# leases of the region\n"
    return f"; leases of the region, to be included in a zone\n$ORIGIN {origin}.\n$TTL {TTL}\n"


def lines(held: Held, form: Form, origin: str) -> Iterator[str]:
    """The records of one lease."""
    for text in held.addresses:
        address = ip_address(text)
        match form:
            case Form.ZONE:
                yield f"{name(held)} IN {_type(address)} {address}\n"
            case Form.REVERSE:
                yield f"{address.reverse_pointer}. IN PTR {name(held)}.{origin}.\n"
            case Form.HOSTS:
                yield f"{address}\t{name(held)}.{origin}\n"


def _type(address: Address) -> str:
    return "A" if isinstance(address, IPv4Address) else "AAAA"
