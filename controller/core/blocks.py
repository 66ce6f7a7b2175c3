"""Which pairs of a LAN may be given to whom: blocks of pair numbers, what the policy withholds, what stays here."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from controller.core.addresses import AddressPlan, PlanError
from controller.core.intent import Endpoint
from controller.core.policy.model import Addresses, LanPlan
from controller.wire.delegations import Block

SIZE = 8
"""Pairs in a block. The database's constraints are made with it: another needs a migration."""

KEPT_SHARE = 16
"""One block of so many is never delegated: the controller's own, for what operators grant."""

KEPT_MOST = 512
SMALLEST_SHARED = 4
"""A LAN of fewer blocks is not shared: all of it may be delegated."""


@dataclass(frozen=True)
class Ranges:
    """One LAN. `without` are ranges of pair numbers that nobody gets without being named, `reserved` who is."""

    plan: AddressPlan
    lease_seconds: int
    without: tuple[tuple[int, int], ...] = ()
    reserved: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, endpoint: Endpoint, policy: Addresses) -> "Ranges":
        """As the endpoint and the policy have it. What a policy says about addresses that are none of this LAN's is
        the policy's check to refuse; here it has no effect."""
        plan, lan = endpoint.plan, policy.lans.get(endpoint.name, LanPlan())
        reserved = {device: number for device, text in lan.reservations.items() for number in _number(plan, text)}
        excluded = (_span(plan, first, last) for first, last in lan.exclusions)
        without = [span for span in excluded if span] + [(number, number) for number in reserved.values()]
        seconds = lan.lease_seconds or policy.lease_seconds or endpoint.lease_seconds
        return cls(plan, seconds, tuple(sorted(without)), reserved)

    @property
    def excluded(self) -> int:
        """How many pairs the policy takes out for good; what it reserves is given to somebody."""
        return sum(last - first + 1 for first, last in self.without) - len(self.reserved)

    @property
    def total(self) -> int:
        """How many blocks the LAN has; the last one may be short."""
        return -(-self.plan.capacity // SIZE)

    @property
    def shared(self) -> int:
        """The blocks below this number may be delegated; those from it on are the controller's."""
        if self.total < SMALLEST_SHARED:
            return self.total
        return self.total - min(max(1, self.total // KEPT_SHARE), KEPT_MOST)

    def block(self, number: int) -> Block:
        """A block, as agents are told of it."""
        first = number * SIZE
        return Block(number=number, first=first, pairs=min(SIZE, self.plan.capacity - first))

    def free(self, block: int, taken: Collection[int] = ()) -> Iterator[int]:
        """The pairs of a block that somebody new may have, but for those taken."""
        whole = self.block(block)
        for number in range(whole.first, whole.first + whole.pairs):
            if number not in taken and not any(first <= number <= last for first, last in self.without):
                yield number


def _number(plan: AddressPlan, text: str) -> list[int]:
    try:
        return [plan.index_of(ip_address(text))]
    except (ValueError, PlanError):
        return []


def _span(plan: AddressPlan, first: str, last: str) -> tuple[int, int] | None:
    """The pairs between two addresses, also where these are not a pair's: then as far as pairs go."""
    try:
        low, high = (int(ip_address(text)) - int(plan.network.network_address) for text in (first, last))
    except ValueError:
        return None
    span = max(0, low // 2 - 1), min(plan.capacity - 1, high // 2 - 1)
    return span if span[0] <= span[1] else None
