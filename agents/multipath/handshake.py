"""When a subflow has joined: the four packets of RFC 8684, section 3.2, seen by somebody in between. Pure.

The initiator's SYN, the other's SYN/ACK and the initiator's ACK carry MP_JOIN. With the ACK the other one knows the
initiator by its HMAC; that it was content with it, only its answer tells: a further acknowledgment, or a reset. Before
that answer the initiator may not send data, so only then is there a path.
"""

from dataclasses import dataclass, replace
from enum import Enum

from agents.multipath.options import Join
from agents.multipath.segment import ACK, FIN, RST, SYN, Address, End, Segment

_MOST = 1024  # handshakes begun at a time; an address that gets more is under attack, and the oldest go
_SEQUENCES = 1 << 32


class _At(Enum):
    ASKED = "asked"  # SYN
    ANSWERED = "answered"  # SYN/ACK
    CONFIRMED = "confirmed"  # ACK with the initiator's HMAC


@dataclass(frozen=True)
class Joined:
    """A subflow of a connection that was there before. `initiator` is who asked for it, `token` the connection's at the
    one who was asked; `backup` if either side wants it as such."""

    initiator: End
    acceptor: End
    token: int
    backup: bool


@dataclass(frozen=True)
class _Handshake:
    at: _At
    token: int
    backup: bool
    sequence: int  # the initiator's first
    answer: int = 0  # the acceptor's first


class Handshakes:
    """Those between `address` and `peer`, whoever begins; `peer` None is anybody."""

    def __init__(self, address: Address, peer: Address | None = None) -> None:
        self._address, self._peer = address, peer
        self._begun: dict[tuple[End, End], _Handshake] = {}

    @property
    def begun(self) -> int:
        """How many are under way."""
        return len(self._begun)

    def see(self, segment: Segment) -> Joined | None:
        """Takes the next segment, in the order seen; says if a subflow is complete with it."""
        if not self._concerned(segment.source.address, segment.target.address):
            return None
        forth, back = (segment.source, segment.target), (segment.target, segment.source)
        if segment.flags & (RST | FIN):
            self._begun.pop(forth, None)
            self._begun.pop(back, None)
            return None
        join = next((option for option in segment.options if isinstance(option, Join)), None)
        if segment.flags & SYN:
            self._synchronize(segment, join)
            return None
        if segment.flags & ACK and join is not None and join.phase == "ack":
            self._confirm(segment)
            return None
        begun = self._begun.get(back)
        if begun is None or begun.at is not _At.CONFIRMED or not segment.flags & ACK:
            return None
        if (segment.acknowledgment - begun.sequence - 1) % _SEQUENCES >= _SEQUENCES // 2:
            return None  # from before the handshake
        del self._begun[back]
        return Joined(*back, token=begun.token, backup=begun.backup)

    def _concerned(self, source: Address, target: Address) -> bool:
        if self._address not in (source, target) or source == target:
            return False
        return self._peer is None or self._peer in (source, target)

    def _synchronize(self, segment: Segment, join: Join | None) -> None:
        forth, back = (segment.source, segment.target), (segment.target, segment.source)
        if not segment.flags & ACK:
            again = self._begun.get(forth)
            if join is None or join.phase != "syn" or join.token is None:
                self._begun.pop(forth, None)
            elif again is None or (again.token, again.sequence) != (join.token, segment.sequence):
                self._begun.pop(forth, None)
                self._begun[forth] = _Handshake(_At.ASKED, join.token, join.backup, segment.sequence)
                if len(self._begun) > _MOST:
                    del self._begun[next(iter(self._begun))]
            return
        begun = self._begun.get(back)
        if begun is None or segment.acknowledgment != (begun.sequence + 1) % _SEQUENCES:
            return
        if join is None or join.phase != "synack":
            del self._begun[back]  # an ordinary connection, or nothing
        elif begun.at is _At.ASKED or begun.answer != segment.sequence:
            backup = begun.backup or join.backup
            self._begun[back] = replace(begun, at=_At.ANSWERED, answer=segment.sequence, backup=backup)

    def _confirm(self, segment: Segment) -> None:
        begun = self._begun.get((segment.source, segment.target))
        if begun is None or begun.at is not _At.ANSWERED:
            return
        if segment.acknowledgment == (begun.answer + 1) % _SEQUENCES:
            self._begun[segment.source, segment.target] = replace(begun, at=_At.CONFIRMED)
