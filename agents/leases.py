"""Leases from the controller, with a cache that answers renewals while it is away."""

import json
import logging
import time
from collections.abc import Callable

from pydantic import ValidationError

from agents.controller import Controller, ControllerAway, ControllerRefused
from agents.dhcp.leases import LeaseRefused
from agents.state import State, StateError
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

log = logging.getLogger(__name__)

_FILE = "leases.json"


class CachedLeases:
    """A LeaseSource. What the controller granted is kept on disk until it expires there; while the controller cannot
    be reached, the same client gets the same address for as long as that lasts, and nobody gets a new one."""

    def __init__(self, controller: Controller, state: State, now: Callable[[], float] = time.time) -> None:
        self._controller, self._state, self._now = controller, state, now
        self._granted: dict[str, tuple[float, LeaseGrant]] = {}
        try:
            for key, (until, grant) in json.loads(state.read(_FILE) or "{}").items():
                self._granted[key] = (float(until), LeaseGrant.model_validate(grant))
        except (ValueError, TypeError, AttributeError, ValidationError):
            self._granted = {}  # a cache: what cannot be read is asked for again

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """Raises LeaseRefused when the plan says no, ControllerAway when nobody can say."""
        key = _key(request)
        try:
            grant = await self._controller.grant(request)
        except ControllerRefused as refused:
            if self._granted.pop(key, None) is not None:
                self._save()
            raise LeaseRefused(str(refused)) from refused
        except ControllerAway:
            until, known = self._granted.get(key, (0.0, None))
            left = int(until - self._now())
            if known is None or left <= 0:
                raise
            return known.model_copy(update={"seconds": min(left, known.seconds)})
        self._granted[key] = (self._now() + grant.seconds, grant)
        self._save()
        return grant

    async def release(self, release: LeaseRelease) -> None:
        """Raises ControllerAway; the lease then expires by itself."""
        if self._granted.pop(_key(release), None) is not None:
            self._save()
        try:
            await self._controller.release(release)
        except ControllerRefused as refused:
            raise LeaseRefused(str(refused)) from refused

    def _save(self) -> None:
        now = self._now()
        self._granted = {key: entry for key, entry in self._granted.items() if entry[0] > now}
        document = {key: [until, grant.model_dump()] for key, (until, grant) in self._granted.items()}
        try:
            self._state.write(_FILE, json.dumps(document))
        except StateError as error:
            log.error("leases are not kept for a restart: %s", error)


def _key(message: LeaseRequest | LeaseRelease) -> str:
    return f"{message.endpoint} {message.client_id or message.mac}"
