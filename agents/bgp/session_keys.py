"""The keys that sign the PE's BGP sessions: the controller's keys, kept across restarts, and the sessions that use
them.

Keys are in files of mode 0600 and in the speakers' memory, never in logs or reports. They belong to one credential: an
agent that has enrolled again does not use the earlier ones.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping

from pydantic import ConfigDict, ValidationError

from agents.backoff import Backoff
from agents.controller.client import Controller, ControllerAway, ControllerRefused
from agents.storage.state import StateDirectory, StateError
from controller.wire.desired import Speaker
from controller.wire.model import Message
from controller.wire.session_keys import SessionKeys, SessionKeysHeld

log = logging.getLogger(__name__)

_FILE = "session-keys.json"


class _Kept(Message):
    model_config = ConfigDict(hide_input_in_errors=True)

    credential: str
    keys: SessionKeys


class SessionSigning:
    """Calls `changed` when sessions need other keys. `run()` reports which keys are held and used."""

    def __init__(
        self, cloudlet: str, state: StateDirectory, controller: Controller, changed: Callable[[], None]
    ) -> None:
        self._cloudlet, self._state, self._controller, self._changed = cloudlet, state, controller, changed
        self._keys, self._held = _read(state), False
        self._seen: dict[str, str] = {}
        self._due = asyncio.Event()

    def take(self, keys: SessionKeys) -> None:
        """Take in the controller's keys. Keys that cannot be saved are not reported as held."""
        try:
            kept = _Kept(credential=_credential(self._state), keys=keys)
            self._state.write(_FILE, kept.model_dump_json())
        except StateError as error:
            log.error("keys of BGP sessions are not kept for a restart: %s", error)
            return
        if self._keys != keys:
            log.info("BGP sessions: key %s wanted, in force with %s", keys.wanted, sorted(keys.sessions) or "nobody")
        self._keys, self._held = keys, True
        self._due.set()
        self._changed()

    def passwords(self, speakers: list[Speaker]) -> dict[str, str]:
        """Return the passwords by the route server's address; sessions without a key are left out."""
        sessions = self._keys.sessions if self._keys is not None else {}
        return {s.address: sessions[s.name].password for s in speakers if s.name in sessions}

    def look(self, speakers: list[Speaker], sessions: Mapping[str, str], signed: Mapping[str, str]) -> list[str]:
        """Note which sessions are established, and by `signed` the passwords that the speaker uses. Return sentences
        about sessions that have a key and are not established."""
        passwords, seen, problems = self.passwords(speakers), {}, []
        for s in speakers:
            key = self._keys.sessions[s.name].key if self._keys and s.name in self._keys.sessions else ""
            if sessions.get(s.address) != "established":
                if key:
                    problems.append(f"no BGP session with {s.name}, which is to be signed: {_DROPPED}")
            elif signed.get(s.address) == passwords.get(s.address, ""):
                seen[s.name] = key
        if seen != self._seen:
            self._seen = seen
            self._due.set()
        return problems

    async def run(self) -> None:
        """Report the keys that are held and used until the controller has the report, if it has sent any keys."""
        backoff = Backoff()
        while True:
            await self._due.wait()
            self._due.clear()
            if self._keys is None or not self._held:
                continue
            said = SessionKeysHeld(cloudlet=self._cloudlet, held=self._keys.wanted, seen=self._seen)
            try:
                await self._controller.session_keys(said)
            except (ControllerAway, ControllerRefused) as error:
                log.debug("session keys: %s", error)
                await asyncio.sleep(backoff.delay())
                self._due.set()
            else:
                backoff.reset()


_DROPPED = "the route server drops what is not signed with its key, without a word"


def _credential(state: StateDirectory) -> str:
    return hashlib.sha256((state.credential() or "").encode()).hexdigest()


def _read(state: StateDirectory) -> SessionKeys | None:
    try:
        text = state.read(_FILE)
        kept = _Kept.model_validate_json(text) if text is not None else None
    except (StateError, ValidationError) as error:
        log.error("keys of BGP sessions from before the start cannot be read: %s", error)
        return None
    return kept.keys if kept is not None and kept.credential == _credential(state) else None
