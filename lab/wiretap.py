"""Listens at the emulated WAN to everything that leaves and enters cloudlets, except for what IPsec has encrypted."""

from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from lab.capture import Capture
from lab.clear import Leak, judge
from lab.plan import Plan

ENCRYPTED = "udp port 4500"
"""The pcap-filter for IKE and ESP."""


class Wiretap:
    """Listens at every WAN interface of these nodes from construction until `stop`. Between the VTEPs `silent` it
    reports any TCP."""

    def __init__(self, plan: Plan, nodes: Iterable[str], silent: Iterable[str] = ()) -> None:
        names, self._silent = set(nodes), frozenset(silent)
        ports = [port for line in plan.lines for port in (line.a, line.b) if port.node in names]
        self._captures = [Capture(port.node, port.name, f"not {ENCRYPTED}", whole=True) for port in ports]

    def stop(self) -> Counter[Leak]:
        """Return the unencrypted traffic, with the number of its frames. The result is complete, or LabError is
        raised."""
        seen = [frame for capture in self._captures for frame in capture.frames()]
        return Counter(leak for _, frame in seen if (leak := judge(frame, self._silent)) is not None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for capture in self._captures:
            capture.__exit__(kind, error, trace)
