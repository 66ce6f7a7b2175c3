"""DNS records of static hosts and leases, to be included in a zone of the operator's own (RFC 1035, section 5). Pure.

A static host is `HOST.ENDPOINT`, a device `DEVICE.ENDPOINT`, its VM `DEVICE-vm.ENDPOINT`. Operators gave these names:
the name that a client sends is not trusted. A device that holds leases at two LANs has a name in each.

A name belongs to one host. If two hosts would share a name, the one that comes later in the order of `Host` is left
out, and a comment says so."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, ip_address

from controller.core.addresses import Address

TTL = 60
"""Seconds that resolvers may keep a record: a moving device has another address in less than a lease time."""

LABEL = 63
"""The most octets of a label (RFC 1035, section 2.3.4)."""


class Form(StrEnum):
    """`zone`: addresses by name; `reverse`: names by address, with whole owner names; `hosts`: as in /etc/hosts."""

    ZONE = "zone"
    REVERSE = "reverse"
    HOSTS = "hosts"


class Host(StrEnum):
    """The kind of an address's owner: a host that was there before the address plan, a device, a device's VM."""

    STATIC = "static"
    MD = "md"
    VM = "vm"


@dataclass(frozen=True)
class NamedHost:
    """A live lease, or a static host, as DNS sees it. `of` is the device or the static host."""

    of: str
    host: Host
    endpoint: str
    addresses: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name below the origin. A device's name that is too long for `-vm` is cut."""
        return f"{self.of[: LABEL - 3] + '-vm' if self.host is Host.VM else self.of}.{self.endpoint}"

    def __str__(self) -> str:
        return {Host.STATIC: "static host {}", Host.MD: "device {}", Host.VM: "VM of {}"}[self.host].format(self.of)


def heading(form: Form, origin: str) -> str:
    """Return the first lines. `origin` is the domain without a dot at its end."""
    if form is Form.HOSTS:
        return "# static hosts and leases of the region\n"
    return f"; static hosts and leases of the region, to be included in a zone\n$ORIGIN {origin}.\n$TTL {TTL}\n"


def records(lan: Iterable[NamedHost], form: Form, origin: str) -> Iterator[str]:
    """Yield the lines of all hosts with addresses at one LAN, given in any order."""
    owners: dict[str, NamedHost] = {}
    for held in sorted(lan, key=lambda h: ([*Host].index(h.host), h.of)):
        first = owners.setdefault(held.name, held)
        if first is held:
            yield from _lines(held, form, origin)
        else:
            said = f"{', '.join(held.addresses)} ({held}) is left out: {held.name} is {first}"
            yield f"{'#' if form is Form.HOSTS else ';'} {said}\n"


def _lines(held: NamedHost, form: Form, origin: str) -> Iterator[str]:
    for text in held.addresses:
        address = ip_address(text)
        match form:
            case Form.ZONE:
                yield f"{held.name} IN {_type(address)} {address}\n"
            case Form.REVERSE:
                yield f"{address.reverse_pointer}. IN PTR {held.name}.{origin}.\n"
            case Form.HOSTS:
                yield f"{address}\t{held.name}.{origin}\n"


def _type(address: Address) -> str:
    return "A" if isinstance(address, IPv4Address) else "AAAA"
