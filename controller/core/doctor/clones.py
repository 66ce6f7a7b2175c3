"""Machines in two cloudlets that were copied with their DHCP client id."""

from collections.abc import Iterable, Iterator

from controller.core.clones import Clones
from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind

MOST = 100
"""The most clones that are named."""


def compare_clones(found: Iterable[Clones]) -> Iterator[Difference]:
    """Yield a difference for each pair of clones, up to MOST."""
    for one, _ in zip(sorted(found, key=lambda one: one.key), range(MOST), strict=False):
        where = f"leases of {one.one.endpoint} and {one.other.endpoint}"
        macs = " and ".join(sorted((one.one.mac, one.other.mac)))
        yield Difference(DifferenceKind.CLONED_CLIENT, where, one.shown, "one MAC", macs, f"{one.text}.")
