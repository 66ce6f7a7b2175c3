"""The audit log: its entries, and how they are chained so that tampering shows. Pure.

Every entry is sealed with a SHA-256 over the seal of the entry before it and over all of its own fields. So nobody can
change, remove or insert an entry without making all later seals anew; a comparison with a seal that was noted elsewhere
shows that as well."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

ORIGIN = "0" * 64
"""The seal before that of the first entry."""

LONGEST = 4096
"""The largest request body, in bytes, that is kept; of a longer one only the digest is."""

MOST_SAID = 65_536
"""The largest `before` or `after`, in characters, that is kept; of a longer one only the digest is."""

SECRETS = frozenset({"token", "secret", "password", "credential", "key"})
"""Names of request fields whose values are not written to the log."""


@dataclass(frozen=True)
class AuditEntry:
    """`who` did `method` on `path`, which was answered with `status`. `details` is JSON: the request's body (`asked`),
    and the state `before` and `after`."""

    number: int
    at: datetime
    who: str
    method: str
    path: str
    status: int
    details: str


def canonical(value: object) -> str:
    """Return the value as JSON in the one form over which seals are made."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)


def seal(before: str, entry: AuditEntry) -> str:
    """Return the entry's seal; `before` is the seal of the entry before it."""
    at = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    said = [before, entry.number, at, entry.who, entry.method, entry.path, entry.status, entry.details]
    return hashlib.sha256(canonical(said).encode()).hexdigest()


@dataclass
class Chain:
    """The entries in their order, as far as they have been verified."""

    number: int = 0
    seal: str = ORIGIN

    def follow(self, entry: AuditEntry, given: str) -> str | None:
        """Verify the next entry and go on to it. Return what is wrong if it is not the next one or does not match its
        seal."""
        if entry.number != self.number + 1:
            return f"entry {self.number + 1} is missing"
        if seal(self.seal, entry) != given:
            return f"entry {entry.number} is not what was sealed"
        self.number, self.seal = entry.number, given
        return None


def asked(body: bytes) -> Any:
    """Return the part of a request's body that is logged: JSON without secrets, or the digest of a long or non-JSON
    body."""
    if not body:
        return None
    if len(body) <= LONGEST:
        try:
            return _open(json.loads(body, parse_constant=str))
        except (ValueError, RecursionError):
            pass
    return _digest(body)


def details(asked: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the `details` of an entry."""
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
