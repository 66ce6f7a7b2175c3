"""Counts of what has happened since the agent began. Pure."""

from collections import Counter
from typing import Literal, get_args

from controller.wire.moves import Act, Progress

Way = Literal["in", "out"]

DHCP = {
    ("ipv4", "in"): ("discover", "request", "decline", "release", "inform"),
    ("ipv4", "out"): ("offer", "ack", "nak"),
    ("ipv6", "in"): ("solicit", "request", "confirm", "renew", "rebind", "release", "decline", "information_request"),
    ("ipv6", "out"): ("advertise", "reply"),
}
"""The messages by family and direction (RFC 2132, section 9.6; RFC 8415, section 7.3)."""

HELPERS = ("weft-images",)
"""The programs that the agent starts again when they end."""

ENDS = ("done", "failed")


class Tally:
    """The counts. Each known one begins with 0: Prometheus sees no increase in a series that begins with its first
    event."""

    def __init__(self) -> None:
        self.dhcp: Counter[tuple[str, str, str]] = Counter(
            {(*way, kind): 0 for way, kinds in DHCP.items() for kind in kinds}
        )
        self.moves: Counter[tuple[str, str]] = Counter({(act, end): 0 for act in get_args(Act) for end in ENDS})
        self.restarts: Counter[str] = Counter(dict.fromkeys(HELPERS, 0))
        self.reconciliations: Counter[str] = Counter(dict.fromkeys(ENDS, 0))
        self.reconcile_seconds = 0.0
        self.probes_sent = self.probes_lost = 0

    def message(self, family: str, way: Way, kind: str) -> None:
        """Count a message of DHCP."""
        self.dhcp[family, way, kind] += 1

    def order(self, outcome: Progress) -> None:
        """Count an order of a move that has ended."""
        self.moves[outcome.act, outcome.state] += 1

    def restarted(self, program: str) -> None:
        """Count a helper that has ended by itself and is started again."""
        self.restarts[program] += 1

    def reconciled(self, well: bool, seconds: float) -> None:
        """Count a reconcile pass, and the time that it took."""
        self.reconciliations[ENDS[0] if well else ENDS[1]] += 1
        self.reconcile_seconds += seconds

    def probed(self, sent: int, received: int) -> None:
        """Count the echoes of a round to a neighbour."""
        self.probes_sent += sent
        self.probes_lost += sent - received
