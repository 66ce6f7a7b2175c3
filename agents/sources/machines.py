"""The machines of this cloudlet and the addresses that they came with, kept across a restart of the agent."""

import logging

from pydantic import TypeAdapter, ValidationError

from agents.storage.state import StateDirectory, StateError
from controller.wire.model import Message

log = logging.getLogger(__name__)

FILE = "machines.json"


class Visit(Message):
    """A machine at an endpoint: the MACs of its vNICs, the addresses that it had or was to get by the order that
    brought it, and the move that brought it."""

    endpoint: str
    macs: tuple[str, ...]
    addresses: tuple[str, ...] = ()
    move: str = ""


_VISITS = TypeAdapter(dict[str, Visit])


def read(state: StateDirectory) -> dict[str, Visit]:
    """Return the visits by the machine's name. A file that cannot be read counts as empty, and is logged."""
    try:
        text = state.read(FILE)
        return _VISITS.validate_json(text) if text is not None else {}
    except (StateError, ValidationError) as error:
        log.error("%s: which machines came with which addresses is not known: %s", FILE, error)
        return {}


def write(state: StateDirectory, visits: dict[str, Visit]) -> None:
    """Write the visits. Raises StateError."""
    state.write(FILE, _VISITS.dump_json(visits).decode())
