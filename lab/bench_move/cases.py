"""The cases that are measured: round trips and rates between two cloudlets, and ways to move. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RTTS, RATES = (20, 50, 100, 150), (350, 175, 60)
"""Milliseconds and Mbit/s, of Teka's tables 6 and 7."""

MEMORY, WORKING, WRITTEN = 256, 64, 1
"""MiB of the guest; MiB of it that are written over and over; MiB of those that are written a second."""

DOWN, UP = 1_000_000, 100_000
"""Bytes a second that the application streams to its device and gets from it all the time: 8 Mbit/s, Teka's figure
19."""

DOWNTIME_MS = 300
"""The pause that all ways aim at: QEMU's default, and Weft's."""


class Way(StrEnum):
    """The way in which the guest is moved: by QEMU alone, with a tunnel to its old address afterwards; by Weft over one
    path; by Weft over two."""

    PLAIN = "plain"
    ONE = "one"
    TWO = "two"


@dataclass(frozen=True, order=True)
class Case:
    """Round trip in ms between the cloudlets, and the rate in Mbit/s of each path between them."""

    rtt_ms: int
    rate_mbit: int

    def __str__(self) -> str:
        return f"{self.rtt_ms} ms, {self.rate_mbit} Mbit/s"


QUICK = (Case(20, 350), Case(100, 60))


def cases(rtts: Sequence[int] = RTTS, rates: Sequence[int] = RATES) -> tuple[Case, ...]:
    return tuple(Case(rtt, rate) for rate in rates for rtt in rtts)


def topology(case: Case, way: Way) -> str:
    """Return a region of two cloudlets: the device has come to c2, its VM is still at c1. The delay and rate between
    them are those of c1's link to the core: a second link of that rate would only keep the relay busy. With two paths
    the second one bypasses the core."""
    link = f"delay_ms: {case.rtt_ms / 2:g}, rate_mbit: {case.rate_mbit}"
    lines = [
        f"# {case}, {way}: made by make bench-move.",
        "apiVersion: weft/v1",
        "policy: policy.yaml",
        "cloudlets:",
        "  - name: c1",
        "    endpoints: [{name: c1-lan, prefix: 10.1.0.0/24}]",
        f"    machines: [{{name: v1, endpoint: c1-lan, device: m1, memory_mib: {MEMORY}}}]",
        "  - name: c2",
        "    endpoints: [{name: c2-lan, prefix: 10.2.0.0/24}]",
        "    devices: [{name: m1, endpoint: c2-lan}]",
        "links:",
        *(f"  - {{between: [{node}, core]}}" for node in ("ctl", "rs1", "rs2", "c2")),
        f"  - {{between: [c1, core], {link}}}",
        *([f"  - {{between: [c1, c2], {link}, bypass: true}}"] if way is Way.TWO else []),
    ]
    return "\n".join(lines) + "\n"


POLICY = f"""\
# One pool. The VM moves when the benchmark says so: no device rests long enough to be followed.
apiVersion: weft/v1
vcps:
  blue: {{flavour: vpls, members: [c1-lan, c2-lan]}}
migration: {{settle_seconds: 3600, downtime_ms: {DOWNTIME_MS}}}
"""
