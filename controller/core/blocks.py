"""The pairs of a LAN that may be assigned: blocks of pair numbers, pairs that the policy withholds, and blocks that the
controller keeps."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from controller.core.addresses import AddressPlan, PlanError
from controller.core.intent import Endpoint
from controller.core.policy.model import Addresses, LanPlan
from controller.wire.delegations import Block

SIZE = 8
"""Pairs in a block. The database's constraints contain this number: another one needs a migration."""

KEPT_SHARE = 16
"""One block in this many is never delegated: the controller keeps it for leases that operators grant."""

KEPT_MOST = 512
SMALLEST_SHARED = 4
"""A LAN of fewer blocks is not split: all of it may be delegated."""


@dataclass(frozen=True)
class Ranges:
    """One LAN. `without` are ranges of pair numbers that are assigned only by name; `reserved` maps devices to their
    reserved pair numbers."""

    plan: AddressPlan
    lease_seconds: int
    without: tuple[tuple[int, int], ...] = ()
    reserved: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, endpoint: Endpoint, policy: Addresses) -> "Ranges":
        """Return the ranges of an endpoint under a policy. Addresses outside this LAN have no effect here: the policy's
        check refuses them."""
        plan, lan = endpoint.plan, policy.lans.get(endpoint.name, LanPlan())
        reserved = {device: number for device, text in lan.reservations.items() for number in _number(plan, text)}
        excluded = (_span(plan, first, last) for first, last in lan.exclusions)
        without = [span for span in excluded if span] + [(number, number) for number in reserved.values()]
        seconds = lan.lease_seconds or policy.lease_seconds or endpoint.lease_seconds
        return cls(plan, seconds, tuple(sorted(without)), reserved)

    @property
    def excluded(self) -> int:
        """The number of pairs that the policy excludes; a reserved pair does not count."""
        return sum(last - first + 1 for first, last in self.without) - len(self.reserved)

    @property
    def total(self) -> int:
        """The number of blocks of the LAN; the last one may be short."""
        return -(-self.plan.capacity // SIZE)

    @property
    def shared(self) -> int:
        """The number of the first block that the controller keeps; blocks below it may be delegated."""
        if self.total < SMALLEST_SHARED:
            return self.total
        return self.total - min(max(1, self.total // KEPT_SHARE), KEPT_MOST)

    def block(self, number: int) -> Block:
        """Return a block, as agents receive it."""
        first = number * SIZE
        return Block(number=number, first=first, pairs=min(SIZE, self.plan.capacity - first))

    def free(self, block: int, taken: Collection[int] = ()) -> Iterator[int]:
        """Yield the pairs of a block that can be assigned to a new device, except those taken."""
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
    """Return the pairs from one address to another. If these are not addresses of pairs, the range is cut to the
    pairs."""
    try:
        low, high = (int(ip_address(text)) - int(plan.network.network_address) for text in (first, last))
    except ValueError:
        return None
    span = max(0, low // 2 - 1), min(plan.capacity - 1, high // 2 - 1)
    return span if span[0] <= span[1] else None
