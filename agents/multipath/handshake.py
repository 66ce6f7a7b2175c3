"""Recognises a joined subflow by the four packets of RFC 8684, section 3.2, as an observer between the hosts sees them.
Pure.

The initiator's SYN, the acceptor's SYN/ACK and the initiator's ACK carry MP_JOIN. With the ACK the acceptor gets the
initiator's HMAC. Only the acceptor's next packet shows whether it accepts the HMAC: an acknowledgment, or a reset. The
initiator may not send data before that acknowledgment, so the path exists only from then on.
"""

from dataclasses import dataclass, replace
from enum import Enum

from agents.multipath.options import Join
from agents.multipath.segment import ACK, FIN, RST, SYN, Address, End, Segment

_MOST = 1024  # open handshakes; an address that gets more is under attack, and the oldest are dropped
_SEQUENCES = 1 << 32


class _At(Enum):
    ASKED = "asked"  # SYN
    ANSWERED = "answered"  # SYN/ACK
    CONFIRMED = "confirmed"  # ACK with the initiator's HMAC


@dataclass(frozen=True)
class Joined:
    """A subflow that was added to an existing connection. `initiator` asked for it; `token` is the connection's token
    at the acceptor; `backup`: either side wants it as a backup."""

    initiator: End
    acceptor: End
    token: int
    backup: bool


@dataclass(frozen=True)
class _Handshake:
    at: _At
    token: int
    backup: bool
    sequence: int  # the initiator's first sequence number
    answer: int = 0  # the acceptor's first sequence number


class Handshakes:
    """The handshakes between `address` and `peer`, whichever begins; `peer` None: any address."""

    def __init__(self, address: Address, peer: Address | None = None) -> None:
        self._address, self._peer = address, peer
        self._begun: dict[tuple[End, End], _Handshake] = {}

    @property
    def begun(self) -> int:
        """Number of handshakes that have begun and are not complete."""
        return len(self._begun)

    def see(self, segment: Segment) -> Joined | None:
        """Take in the next segment, in the order seen. Return the subflow that it completes, or None."""
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
            return None  # an acknowledgment from before the handshake
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
