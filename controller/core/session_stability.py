"""The check that a BGP session has stood long enough for another one to be broken off for its new key. Pure.

A newly established session has not brought its routes yet: speakers gather them first (FRR for a second). So another
session of the same PE stays until then. So do all sessions with the other route servers while keys change at one: a PE
may have routes of a cloudlet only from there while that cloudlet's other session is still being established."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controller.core.session_keys import SessionKeys

SETTLED = 3.0
"""Seconds that a session has to stand."""

PATIENCE = 30.0
"""Seconds after which a session that does not return with its new key stops delaying others."""


@dataclass(frozen=True)
class _Session:
    """`force` is the key in force, since `decided`; `seen` the one that the agent sees, since `since`."""

    force: str
    decided: float
    seen: str | None
    since: float

    def stands(self, now: float) -> bool:
        return self.seen == self.force and now - self.since >= SETTLED


class SessionStability:
    """The observations of each session, look by look; a new instance takes all sessions as new."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._changing: set[str] = set()
        self._now = 0.0

    def look(self, keys: Mapping[str, SessionKeys], now: float) -> None:
        """Take in the present keys, by cloudlet; `now` in seconds."""
        before, self._sessions, self._now = self._sessions, {}, now
        for cloudlet, its in keys.items():
            for server in {*its.in_force, *its.seen}:
                force, seen = its.in_force.get(server, ""), its.seen.get(server)
                was = before.get((cloudlet, server))
                decided = was.decided if was is not None and was.force == force else now
                since = was.since if was is not None and was.seen == seen else now
                self._sessions[cloudlet, server] = _Session(force, decided, seen, since)
        self._changing = {
            server
            for (_, server), session in self._sessions.items()
            if not session.stands(now) and now - session.decided < PATIENCE
        }

    def settled(self, cloudlet: str, servers: Collection[str]) -> set[str]:
        """Return the route servers whose sessions with this cloudlet stand, and where no other session's key is
        changing."""
        found = ((server, self._sessions.get((cloudlet, server))) for server in servers)
        return {s for s, session in found if session is not None and session.stands(self._now)} - self._changing
