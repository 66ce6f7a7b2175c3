"""The audit log: what an entry is, and how entries are chained so that tampering shows. Pure.

Every entry is sealed with a SHA-256 over the seal of the one before it and all that it says itself. So nothing can be
changed, taken out or put in between without all later seals being made anew; and a seal that was noted elsewhere shows
that as well.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

ORIGIN = "0" * 64
"""What the first entry is sealed on."""

LONGEST = 4096
"""Bytes of a request's body that are kept; of a longer one, its digest."""

MOST_SAID = 65_536
"""Characters of what was before or after; beyond that, a digest."""

SECRETS = frozenset({"token", "secret", "password", "credential", "key"})
"""What goes by these names in a request is not written down."""


@dataclass(frozen=True)
class AuditEntry:
    """`who` did `method` on `path`, which was answered with `status`. `details` is JSON: what was `asked` (the body),
    and what was `before` and `after`."""

    number: int
    at: datetime
    who: str
    method: str
    path: str
    status: int
    details: str


def canonical(value: object) -> str:
    """JSON in the one form that seals are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)


def seal(before: str, entry: AuditEntry) -> str:
    """The entry's seal; `before` is that of the entry before it."""
    at = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    said = [before, entry.number, at, entry.who, entry.method, entry.path, entry.status, entry.details]
    return hashlib.sha256(canonical(said).encode()).hexdigest()


@dataclass
class Chain:
    """Entries that follow each other, as far as they were looked at."""

    number: int = 0
    seal: str = ORIGIN

    def follow(self, entry: AuditEntry, given: str) -> str | None:
        """Goes on to the next entry; says what is wrong if it is not the next one, or not as it was sealed."""
        if entry.number != self.number + 1:
            return f"entry {self.number + 1} is missing"
        if seal(self.seal, entry) != given:
            return f"entry {entry.number} is not what was sealed"
        self.number, self.seal = entry.number, given
        return None


def asked(body: bytes) -> Any:
    """What is written down of a request's body: JSON without secrets, or the digest of what is long or not JSON."""
    if not body:
        return None
    if len(body) <= LONGEST:
        try:
            return _open(json.loads(body, parse_constant=str))
        except (ValueError, RecursionError):
            pass
    return _digest(body)


def details(asked: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """As an entry has them."""
    return canonical({"asked": asked, "before": _bounded(before), "after": _bounded(after)})


def _open(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "(secret)" if name in SECRETS else _open(inner) for name, inner in value.items()}
    return [_open(inner) for inner in value] if isinstance(value, list) else value


def _bounded(said: Mapping[str, Any]) -> Any:
    text = canonical(said)
    return (said or None) if len(text) <= MOST_SAID else _digest(text.encode())


def _digest(what: bytes) -> dict[str, object]:
    return {"bytes": len(what), "sha256": hashlib.sha256(what).hexdigest()}
