"""Keeps the kernel's sets in step with leases and machines."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network

from agents.kernel.lan import bridge_name
from agents.nft import Nft, NftError
from agents.sources import machines
from agents.sources.lan import GuardedLan, Leased
from agents.sources.machines import Visit
from agents.sources.rules import changes, elements_of, ports, ruleset
from agents.sources.table import Table
from agents.storage.state import StateDirectory, StateError
from controller.wire.delegations import Client
from controller.wire.desired import Desired, Endpoint
from controller.wire.moves import Order

log = logging.getLogger(__name__)

Shape = tuple[str, IPv4Network, IPv6Network | None]
Guarded = frozenset[tuple[str, tuple[str, ...]]]


class Sources:
    """The source guard of one cloudlet. Until the first call of `apply` the kernel's table stays as an earlier agent
    has left it. Sources calls `wake` when `apply` has something to do."""

    def __init__(self, nft: Nft, state: StateDirectory, wake: Callable[[], None] = lambda: None) -> None:
        self._table, self._state, self._wake = Table(nft, wake), state, wake
        self._leased: dict[str, Leased] = {}
        self._lans: dict[str, GuardedLan] = {}
        self._visits = machines.read(state)
        self._guarded: Guarded = frozenset()  # by the rules in the kernel

    async def apply(self, desired: Desired, ports_of: Mapping[str, Iterable[str]]) -> str | None:
        """Make the table that of these LANs. `ports_of` has their access ports by the bridge's name. Only LANs whose
        leases are known are guarded. Return the problem, if any."""
        shapes = {e.name: _shape(e) for e in desired.endpoints if e.name in self._leased}
        async with self._table.turn:
            anew = self._table.stale
            if shapes != {name: (lan.bridge, lan.prefix, lan.prefix6) for name, lan in self._lans.items()}:
                self._lans, anew = {name: self._lan(name, *shape) for name, shape in shapes.items()}, True
            for lan in self._lans.values():
                lan.ports = tuple(sorted(ports_of.get(lan.bridge, ())))
            guarded = frozenset((lan.bridge, lan.ports) for lan in self._lans.values() if lan.leased.bound)
            if not anew and guarded == self._guarded:
                return None
            if anew:
                self._table.forget()  # the text has all of it
            try:
                await self._table.load(ruleset(self._lans.values()) if anew else ports(self._lans.values()))
            except (NftError, OSError) as error:
                return f"sources are not checked: {error}"
            self._guarded = guarded
            return None

    def ports(self, endpoint: str) -> tuple[str, ...]:
        """Return the access ports of a LAN whose leases are known."""
        lan = self._lans.get(endpoint)
        return lan.ports if lan is not None else ()

    async def stop(self) -> None:
        """Finish the change that is being written. The kernel's table stays."""
        await self._table.stop()

    async def lease(self, endpoint: str, leased: Leased) -> None:
        """Set all leases of a LAN. From now on `change` updates them."""
        self._leased[endpoint] = leased
        if (lan := self._lans.get(endpoint)) is not None:
            before, lan.leased = lan.leased, leased
            self._settle(lan, before.clients.keys() | leased.clients.keys())
            self._rearrange(lan, before.ranges)
            await self._table.flush()

    async def change(
        self,
        endpoint: str,
        clients: Mapping[int, Client | None],
        ranges: tuple[tuple[int, int], ...] | None = None,
        bound: bool = True,
    ) -> None:
        """Set the clients that have leases from now on, by offset (None: nobody). Pass `ranges` if they or the policy
        may have changed. Return when the kernel has the change: at once, if it is nothing new to it."""
        if (leased := self._leased.get(endpoint)) is None:
            return
        before = leased.ranges
        for offset, client in clients.items():
            if client is None:
                leased.clients.pop(offset, None)
            else:
                leased.clients[offset] = client
        if ranges is not None:
            if leased.bound != bound:
                self._wake()
            leased.ranges, leased.bound = ranges, bound
        if (lan := self._lans.get(endpoint)) is not None:
            self._settle(lan, clients)
            self._rearrange(lan, before)
            await self._table.flush()

    def end(self, endpoint: str) -> None:
        """Forget the leases of that LAN."""
        self._leased.pop(endpoint, None)

    async def admit(self, order: Order) -> None:
        """Admit the machine to the endpoint: its vNICs may use the addresses that it has leased, and those that the
        order names. Return when the kernel has the change."""
        addresses = order.addresses
        brought = {a for a in (addresses.old, addresses.new) if a is not None} if addresses is not None else set()
        before = self._visits.get(order.machine.name)
        if before is not None and (before.endpoint, before.move) == (order.endpoint, order.move):
            brought |= set(before.addresses)
        visit = Visit(
            endpoint=order.endpoint, macs=order.machine.macs, addresses=tuple(sorted(brought)), move=order.move
        )
        if visit != before:
            await self._visit(order.machine.name, visit)

    async def dismiss(self, order: Order) -> None:
        """Withdraw that, because the machine is not at the endpoint any more, or its move there has failed."""
        visit = self._visits.get(order.machine.name)
        if visit is None or visit.endpoint != order.endpoint or (order.act == "abort" and visit.move != order.move):
            return
        await self._visit(order.machine.name, None)

    async def _visit(self, machine: str, visit: Visit | None) -> None:
        self._visits = {name: one for name, one in self._visits.items() if name != machine}
        if visit is not None:
            self._visits[machine] = visit
        for name, lan in self._lans.items():
            self._settle(lan, lan.visit(machine, visit if visit is not None and visit.endpoint == name else None))
        try:
            await asyncio.to_thread(machines.write, self._state, self._visits)
        except StateError as error:
            log.error("which addresses %s came with is not kept for a restart: %s", machine, error)
        await self._table.flush()

    def _lan(self, name: str, bridge: str, prefix: IPv4Network, prefix6: IPv6Network | None) -> GuardedLan:
        lan = GuardedLan(bridge, prefix, prefix6, self._leased[name])
        concerned = set(lan.leased.clients)
        for machine, visit in self._visits.items():
            if visit.endpoint == name:
                concerned |= lan.visit(machine, visit)
        for offset in concerned:
            lan.settle(offset)
        return lan

    def _settle(self, lan: GuardedLan, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self._table.note(dict(changes(lan, offset, *lan.settle(offset))))

    def _rearrange(self, lan: GuardedLan, before: tuple[tuple[int, int], ...]) -> None:
        if before == lan.leased.ranges:
            return
        old, new = elements_of(lan, before), elements_of(lan, lan.leased.ranges)
        self._table.note(dict.fromkeys(old - new, False))
        self._table.note(dict.fromkeys(new - old, True))


def _shape(endpoint: Endpoint) -> Shape:
    prefix6 = IPv6Network(endpoint.prefix6) if endpoint.prefix6 is not None else None
    return bridge_name(endpoint), IPv4Network(endpoint.prefix), prefix6
