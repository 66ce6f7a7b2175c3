"""Whose address is whose on one LAN. Pure.

Addresses are counted as offsets from the prefix's base, the same in both families: a pair has one number.
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
    """What an agent's leases say of a LAN. `clients` by offset; `ranges` are first and last offset of what the agent
    gives out; `bound`: by policy, whether sources are checked."""

    clients: dict[int, Client] = field(default_factory=dict)
    ranges: tuple[tuple[int, int], ...] = ()
    bound: bool = True


@dataclass
class GuardedLan:
    """One LAN. `held`: by offset, who may use it, as it was last settled."""

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
        """Who could use it until now, and who can from now on."""
        before, now = self.held.pop(offset, NOBODY), self._macs(offset)
        if now:
            self.held[offset] = now
        return before, now

    def visit(self, machine: str, visit: Visit | None) -> set[int]:
        """The machine is here with what it brought; None: it is not. Returns the offsets that this may concern."""
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
        """The address in each family that has it."""
        networks: list[IPv4Network | IPv6Network] = [self.prefix]
        networks += [self.prefix6] if self.prefix6 is not None else []
        return [str(network[offset]) for network in networks if 0 <= offset < network.num_addresses]

    def _macs(self, offset: int) -> Macs:
        """A machine's vNICs are one: the kernel in it may answer on either for both."""
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
