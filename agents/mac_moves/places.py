"""The places of a LAN's MACs, and the MACs that are at two places. Pure.

The rule is EVPN's (RFC 7432, section 15.1): a MAC that moves MOVES times within WINDOW seconds is a duplicate. A move
has a tunnel at one end at least: a laptop that goes from one access point to the next concerns only the LAN.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from controller.wire.findings import Finding

MOVES = 5
WINDOW = 180.0
"""Seconds within which the moves of a duplicate happen."""

QUIET = 600.0
"""Seconds without a move after which a MAC is no duplicate any more."""

_AT_A_PLACE = 1024  # MACs remembered of each place: a device that makes up MACs pushes out those of its own place
_MOVING = 256  # MACs of a LAN of which moves are remembered
_PLACES = 1024  # places of a LAN; the one not heard from for longest is forgotten first
_SHOWN = 20  # most duplicates of a LAN that are reported


@dataclass(frozen=True, slots=True)
class MacPlace:
    """A port of the LAN, or the endpoint at the other end of a tunnel."""

    name: str
    tunnel: bool = False

    def __str__(self) -> str:
        return self.name if self.tunnel else f"port {self.name}"


@dataclass(slots=True)
class _Mover:
    moves: deque[float] = field(default_factory=lambda: deque(maxlen=MOVES))
    between: tuple[MacPlace, MacPlace] | None = None


class Places:
    """The places of one LAN's MACs. Times are seconds of any monotonic clock."""

    def __init__(self) -> None:
        self._where: dict[str, MacPlace] = {}
        self._at: OrderedDict[MacPlace, OrderedDict[str, None]] = OrderedDict()
        self._movers: OrderedDict[str, _Mover] = OrderedDict()

    def note(self, mac: str, place: MacPlace, now: float) -> bool:
        """Take in the present place of a MAC. Return whether this makes it a duplicate."""
        before = self._where.get(mac)
        if before is not None and before != place:
            del self._at[before][mac]
        self._remember(mac, place)
        if before is None or before == place or not (before.tunnel or place.tunnel):
            return False
        return self._moved(mac, before, place, now)

    def where(self, mac: str) -> MacPlace | None:
        """Return the place at which a MAC was heard last, or None."""
        return self._where.get(mac)

    def _remember(self, mac: str, place: MacPlace) -> None:
        here = self._at.setdefault(place, OrderedDict())
        self._at.move_to_end(place)
        here[mac], self._where[mac] = None, place
        here.move_to_end(mac)
        if len(here) > _AT_A_PLACE:
            del self._where[here.popitem(last=False)[0]]
        if len(self._at) > _PLACES:
            for gone in self._at.popitem(last=False)[1]:
                del self._where[gone]

    def _moved(self, mac: str, before: MacPlace, place: MacPlace, now: float) -> bool:
        mover = self._movers.pop(mac, None) or _Mover()
        if mover.moves and now - mover.moves[-1] >= QUIET:
            mover = _Mover()
        self._movers[mac] = mover
        mover.moves.append(now)
        if len(self._movers) > _MOVING:
            self._movers.popitem(last=False)
        if mover.between is None and len(mover.moves) == MOVES and now - mover.moves[0] <= WINDOW:
            one, other = sorted((before, place), key=lambda place: (place.tunnel, place.name))
            mover.between = one, other
            return True
        return False

    def lapse(self, now: float) -> bool:
        """Forget movers that have been quiet. Return whether a duplicate was among them."""
        quiet = [mac for mac, mover in self._movers.items() if now - mover.moves[-1] >= QUIET]
        lapsed = [self._movers.pop(mac) for mac in quiet]
        return any(mover.between is not None for mover in lapsed)

    def findings(self, endpoint: str) -> list[Finding]:
        """Return the present duplicates. Their texts stay the same as long as they last."""
        found = sorted((mac, mover.between) for mac, mover in self._movers.items() if mover.between is not None)
        return [_finding(endpoint, mac, *map(str, between)) for mac, between in found[:_SHOWN]]


def _finding(endpoint: str, mac: str, one: str, other: str) -> Finding:
    text = (
        f"The MAC {mac} at {endpoint} comes from {one} and from {other} in turn, {MOVES} times within {WINDOW:.0f} s: "
        "two machines have it, or there is a loop"
    )
    return Finding(
        kind="mac-duplicate",
        subject=mac,
        expected="one place",
        found=f"{one} and {other}",
        text=text,
        endpoint=endpoint,
    )
