"""The address plan of a cloudlet's LAN (Teka, section III).

Counted from the prefix's base, address 0 is the network address and 1 the cloudlet's own (the gateway). Pairs follow:
an even address for a mobile device (MD) and the odd address right above it for its VM. The last pair is not assigned:
in IPv4 its upper half is the broadcast address. The base of any prefix with three or more host bits is a multiple of
eight, so an even offset is an even address whatever the prefix."""

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Kind = Literal["md", "vm"]

MIN_HOST_BITS = 3
"""A /29 (IPv6: /125) is the smallest LAN with a gateway, one pair and room for the reserved one."""

MIN_MTU6 = 1280
"""Bytes that every IPv6 link carries (RFC 8200, section 5)."""


class PlanError(ValueError):
    """A prefix or an address that does not fit the plan. The message names it and says why."""


def parse_prefix(text: str) -> Network:
    """Return the network that `text` (CIDR form) stands for. Raises PlanError if the length is missing, a netmask
    stands in its place, host bits are set, or there are fewer than three host bits."""
    base, slash, length = text.partition("/")
    if not slash or "%" in base or not (length.isascii() and length.isdigit()):
        raise PlanError(f"{text!r} is not a prefix in CIDR form, such as 10.1.0.0/24")
    try:
        address = ip_address(base)
        network = ip_network(f"{base}/{length}", strict=False)
    except ValueError:
        raise PlanError(f"{text!r} is not a prefix in CIDR form, such as 10.1.0.0/24") from None
    if network.network_address != address:
        raise PlanError(f"{text} has host bits set; the prefix is {network}")
    if network.max_prefixlen - network.prefixlen < MIN_HOST_BITS:
        longest = network.max_prefixlen - MIN_HOST_BITS
        raise PlanError(f"{text} is too small for the address plan: a /{longest} is the smallest that holds pairs")
    return network


@dataclass(frozen=True)
class AddressPlan:
    """The arithmetic of one LAN in one address family. Pairs are counted from 0, and a number stands for the same pair
    in both families: the smaller of the two plans sets the number of pairs. `other` is the prefix of the LAN's other
    family, if it has one."""

    network: Network
    other: Network | None = None

    @classmethod
    def of(cls, prefix: str, other: str | None = None) -> "AddressPlan":
        """Return the plan of a prefix in CIDR form, beside the prefix of the other family. Raises PlanError."""
        return cls(parse_prefix(prefix), parse_prefix(other) if other is not None else None)

    @cached_property
    def _base(self) -> int:
        return int(self.network.network_address)

    def _at(self, offset: int) -> Address:
        cls = IPv4Address if self.network.version == 4 else IPv6Address
        return cls(self._base + offset)

    @property
    def gateway(self) -> Address:
        """The cloudlet's own address on the LAN."""
        return self._at(1)

    @property
    def reserved(self) -> Address:
        """The even address of the last pair, which is never assigned."""
        return self._at(self.network.num_addresses - 2)

    @property
    def capacity(self) -> int:
        """The number of pairs of the LAN. A LAN with a /24 and a /64 has as many as the /24."""
        sizes = [network.num_addresses for network in (self.network, self.other) if network is not None]
        return min(sizes) // 2 - 2

    def pair(self, index: int) -> tuple[Address, Address]:
        """Return the MD's and the VM's address of pair `index`. Raises PlanError outside 0..capacity-1."""
        if not 0 <= index < self.capacity:
            raise PlanError(f"{self.network} has pairs 0 to {self.capacity - 1}, not {index}")
        return self._at(2 * index + 2), self._at(2 * index + 3)

    def address(self, index: int, kind: Kind) -> Address:
        """Return one address of a pair."""
        md, vm = self.pair(index)
        return md if kind == "md" else vm

    def index_of(self, address: Address) -> int:
        """Return the number of the pair that an MD's or VM's address belongs to. Raises PlanError for any other
        address."""
        if address not in self.network:
            raise PlanError(f"{address} is not in {self.network}")
        offset = int(address) - self._base
        index = offset // 2 - 1
        if not 0 <= index < self.capacity:
            raise PlanError(f"{address} is {self._role(offset)}, not an address of a pair of {self.network}")
        return index

    def kind_of(self, address: Address) -> Kind:
        """Return whether an address of a pair is the MD's (even) or the VM's (odd)."""
        self.index_of(address)
        return "vm" if int(address) & 1 else "md"

    def vm_of(self, md: Address) -> Address:
        """Return the VM's address, always the one above the MD's. Raises PlanError if `md` is not an MD's address."""
        if self.kind_of(md) != "md":
            raise PlanError(f"{md} is odd: a VM's address, not an MD's")
        return self._at(int(md) - self._base + 1)

    def md_of(self, vm: Address) -> Address:
        """Return the MD's address, always the one below the VM's. Raises PlanError if `vm` is not a VM's address."""
        if self.kind_of(vm) != "vm":
            raise PlanError(f"{vm} is even: an MD's address, not a VM's")
        return self._at(int(vm) - self._base - 1)

    def _role(self, offset: int) -> str:
        last = self.network.num_addresses - 1
        names = {0: "the network address", 1: "the gateway", last - 1: "the reserved address"}
        names[last] = "the broadcast address" if self.network.version == 4 else "the last address"
        return names.get(offset, f"beyond the pairs of {self.other}, the LAN's other prefix")


def address6(prefix: str, prefix6: str | None, address: str) -> str | None:
    """Return the IPv6 address that goes with a leased IPv4 address; None on a LAN without IPv6."""
    if prefix6 is None:
        return None
    plan, plan6, leased = AddressPlan.of(prefix, prefix6), AddressPlan.of(prefix6, prefix), ip_address(address)
    return str(plan6.address(plan.index_of(leased), plan.kind_of(leased)))
