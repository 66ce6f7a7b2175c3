"""The reasons why tunnels are down, found in charon's log. Pure."""

import re
from collections.abc import Collection

REFUSED = "received AUTHENTICATION_FAILED"
"""A part of the line that an attempt logs when the peer has refused it."""

_SENTENCES = {
    r"certificate was revoked": "the peer's certificate is revoked",
    r"(subject|issuer) certificate invalid": "the peer's certificate is not valid now",
    r"no issuer certificate found": "the peer's certificate is of an authority that is not trusted here",
    r"no private key found": "there is no private key that fits the certificate",
    r"no trusted \S{1,40} public key found": "the peer has not proved its name",
    r"constraint check failed|signature validation": "the peer has not proved its name",
    REFUSED: "the peer does not take this cloudlet's certificate",
    r"received NO_PROPOSAL_CHOSEN|no matching proposal found": "no proposal in common",
    r"received TS_UNACCEPTABLE|no matching CHILD_SA config": "the peer does not want this tunnel",
    r"unable to (add|install) ": "ESP cannot be set up here",
    r"giving up after \d+ retransmits": "the peer does not answer",
}
"""The sentences by patterns of log lines. If an attempt has several reasons, the first one here tells most."""

_RANKS = tuple((re.compile(pattern), sentence) for pattern, sentence in _SENTENCES.items())


def _rank(line: str) -> int | None:
    return next((rank for rank, (pattern, _) in enumerate(_RANKS) if pattern.search(line)), None)


def tells(line: str) -> bool:
    """Return whether a line gives a reason."""
    return _rank(line) is not None


class Reasons:
    """The best reason of the last attempt that gave any, by the names of connections."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, int]] = {}  # the number of the IKE_SA, and the rank

    def take(self, name: str, attempt: str, line: str) -> None:
        """Take in a line about that connection, from the IKE_SA with the number `attempt`."""
        rank, (before, best) = _rank(line), self._found.get(name, ("", len(_RANKS)))
        if rank is not None and (attempt != before or rank < best):
            self._found[name] = (attempt, rank)

    def keep(self, names: Collection[str]) -> None:
        """Forget the reasons of all other connections."""
        self._found = {name: found for name, found in self._found.items() if name in names}

    def of(self, name: str) -> str:
        """Return the reason as a sentence, or an empty string if none is known."""
        return _RANKS[self._found[name][1]][1] if name in self._found else ""
