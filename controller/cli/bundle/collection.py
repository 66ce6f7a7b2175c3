"""Asks the controller for the parts of a bundle, one after the other, and redacts each before it is kept."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from controller.cli.bundle.archive import Archive
from controller.cli.bundle.parts import (
    AUDIT,
    CLOUDLETS,
    EVENTS,
    METRICS,
    MOST_NAMES,
    NAMES,
    PARTS,
    POLICY,
    REPORT,
    ROUTE_SERVERS,
    SESSIONS,
    Part,
)
from controller.cli.bundle.redaction import Redaction
from controller.cli.bundle.words import Words
from controller.cli.client import Client, Json, path
from controller.cli.failures import Refused, Unreachable


@dataclass(frozen=True)
class Wanted:
    """The user's choice: the number of latest events, and of entries of the audit log; the policy's text or not."""

    events: int
    audit: int
    policy: bool


class Collection:
    """The parts of one bundle. `unasked` has the parts that could not be asked, with the reasons, redacted."""

    def __init__(self, api: Client, words: Words, archive: Archive) -> None:
        self._api, self._words, self._archive = api, words, archive
        self._redaction = Redaction(words)
        self._versions: dict[str, Any] = {}
        self.unasked: dict[str, str] = {}

    @property
    def left_out(self) -> int:
        """The number of fields that were left out."""
        return self._redaction.left_out

    def all(self, wanted: Wanted) -> None:
        """Ask for everything. A part that cannot be asked is noted, and the others are asked."""
        self._learn()
        found = {part: self._part(part) for part in PARTS}
        self._sessions(found[ROUTE_SERVERS] or ())
        self._try("events.json", lambda: self._events(wanted.events))
        self._try("metrics.txt", lambda: self._add("metrics.txt", self._redaction.of_metrics(self._text(METRICS))))
        if wanted.policy:
            self._try("policy.yaml", self._policy)
        if wanted.audit:
            self._try("audit.json", lambda: self._audit(wanted.audit))
        for name in [one["name"] for one in found[CLOUDLETS] or () if not one.get("unmanaged")]:
            self._report(str(name))

    def _learn(self) -> None:
        """Learn the names of the region: they may be in texts."""
        for kind, where in NAMES:
            for item in self._asked(f"names of {kind}s", self._api.items(where, MOST_NAMES)) or ():
                self._words.learn(kind, item.get("name"))
                self._words.learn("tenant", item.get("tenant"))
                labels = item.get("labels")
                for pair in labels.items() if isinstance(labels, dict) else ():
                    for text in pair:
                        self._words.learn("label", text)

    def _part(self, part: Part) -> list[Json] | None:
        """Ask for a part and add it. Return the items of a list."""
        if not part.listed:
            self._try(
                part.file, lambda: self._add(part.file, self._redaction.of(self._api.get(part.path), part.fields))
            )
            return None
        found = self._asked(part.file, self._api.items(part.path, part.most))
        if found is not None:
            self._add(part.file, self._redaction.of(found, part.fields))
        return found

    def _sessions(self, servers: Iterable[Json]) -> None:
        """Add the BGP sessions of all route servers as one list."""
        sessions = [
            {"route_server": server.get("name"), **session}
            for server in servers
            for session in server.get("sessions") or ()
            if isinstance(session, dict)
        ]
        self._add("sessions.json", self._redaction.of(sessions, SESSIONS))

    def _events(self, most: int) -> None:
        found = self._api.events_kept(path("events"), None, most, latest=True) if most else ()
        self._add("events.json", self._redaction.of(list(found), EVENTS))

    def _audit(self, most: int) -> None:
        self._add("audit.json", self._redaction.of(list(self._api.items(path("audit"), limit=most)), AUDIT))

    def _policy(self) -> None:
        answer = self._api.get(POLICY)
        self._add("policy.yaml", self._redaction.of_policy(str(answer.get("text") or "")))

    def _report(self, name: str) -> None:
        shown = self._words.name(name)
        file = f"reports/{shown}.json"
        if shown is not None:
            self._try(file, lambda: self._add(file, self._redaction.of(self._api.get(_report(name)), REPORT)))

    def _text(self, where: str) -> str:
        return "".join(self._api.text(where))

    def _asked(self, what: str, items: Iterator[Json]) -> list[Json] | None:
        """Return the items of a list, or None if it could not be asked."""
        found: list[Json] = []
        return found if self._try(what, lambda: found.extend(items)) else None

    def _try(self, what: str, ask: Callable[[], None]) -> bool:
        try:
            ask()
        except (Refused, Unreachable) as failure:
            self.unasked[what] = self._words.text(" ".join(failure.lines))
            return False
        return True

    def _add(self, name: str, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        self._archive.add(name, text)


def _report(name: str) -> str:
    return path("cloudlets", name, "report")
