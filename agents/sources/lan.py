"""The holders of addresses on one LAN. Pure.

An address is an offset from the prefix's base, the same in both families: one number stands for an IPv4 and an IPv6
address.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address

from agents.sources.machines import Visit
from controller.wire.delegations import Client
from controller.wire.machines import client_id

Macs = frozenset[str]
NOBODY: Macs = frozenset()


@dataclass
class Leased:
    """The leases of a LAN. `clients` are by offset. `ranges` are the first and last offsets that the agent gives out.
    `bound` says whether sources are checked, by policy."""

    clients: dict[int, Client] = field(default_factory=dict)
    ranges: tuple[tuple[int, int], ...] = ()
    bound: bool = True


@dataclass
class GuardedLan:
    """One LAN. `held` has, by offset, the MACs that may use it, as last settled."""

    bridge: str
    prefix: IPv4Network
    prefix6: IPv6Network | None
    leased: Leased = field(default_factory=Leased)
    ports: tuple[str, ...] = ()
    held: dict[int, Macs] = field(default_factory=dict)
    _visits: dict[str, Visit] = field(default_factory=dict)
    _by_mac: dict[str, str] = field(default_factory=dict)
    _by_client: dict[str, str] = field(default_factory=dict)
    _brought: dict[int, set[str]] = field(default_factory=dict)

    def settle(self, offset: int) -> tuple[Macs, Macs]:
        """Compute the offset's holders again. Return the MACs that could use it until now, and those that can from now
        on."""
        before, now = self.held.pop(offset, NOBODY), self._macs(offset)
        if now:
            self.held[offset] = now
        return before, now

    def visit(self, machine: str, visit: Visit | None) -> set[int]:
        """Note that the machine is here with the addresses that it brought, or with None that it is not. Return the
        offsets that this may concern."""
        before = self._visits.pop(machine, None)
        if visit is not None:
            self._visits[machine] = visit
        macs = {mac for one in (before, visit) if one is not None for mac in one.macs}
        concerned = {offset for offset, names in self._brought.items() if machine in names}
        self._by_mac = {mac: name for name, one in self._visits.items() for mac in one.macs}
        self._by_client = {client_id(name): name for name in self._visits}
        self._brought = {}
        for name, one in self._visits.items():
            for offset in self._offsets(one.addresses):
                self._brought.setdefault(offset, set()).add(name)
        concerned |= {offset for offset, names in self._brought.items() if machine in names}
        its = client_id(machine)
        return concerned | {o for o, c in self.leased.clients.items() if c.mac in macs or c.client_id == its}

    def addresses(self, offset: int) -> list[str]:
        """Return the offset's address in each family that has it."""
        networks: list[IPv4Network | IPv6Network] = [self.prefix]
        networks += [self.prefix6] if self.prefix6 is not None else []
        return [str(network[offset]) for network in networks if 0 <= offset < network.num_addresses]

    def _macs(self, offset: int) -> Macs:
        """Return the MACs that may use the offset. A machine's vNICs count as one: its kernel may answer on either for
        both."""
        names, macs = set(self._brought.get(offset, ())), set[str]()
        if (client := self.leased.clients.get(offset)) is not None:
            macs |= {client.mac} if client.mac is not None else set()
            found = (self._by_mac.get(client.mac or ""), self._by_client.get(client.client_id or ""))
            names |= {name for name in found if name is not None}
        return frozenset(macs.union(*(self._visits[name].macs for name in names)))

    def _offsets(self, addresses: Iterable[str]) -> set[int]:
        found = [ip_address(address) for address in addresses]
        networks = [network for network in (self.prefix, self.prefix6) if network is not None]
        return {int(a) - int(n.network_address) for a in found for n in networks if a in n}
