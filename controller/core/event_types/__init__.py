"""The types of all events of a region: the catalogue from which `docs/reference/events.md` is made. A new type is added
here first; `tests/unit/references/test_event_types.py` compares it with the code."""

from collections.abc import Mapping

from controller.core.event_types.addresses import ADDRESSES
from controller.core.event_types.cloudlets import CLOUDLETS
from controller.core.event_types.event_type import EventType
from controller.core.event_types.intent import INTENT
from controller.core.event_types.machines import MACHINES
from controller.core.event_types.moves import MOVES
from controller.core.event_types.route_servers import ROUTE_SERVERS

__all__ = ["EVENT_TYPES", "GROUPS", "EventType"]

GROUPS: Mapping[str, Mapping[str, EventType]] = {
    "Intent, policy and access": INTENT,
    "Cloudlets": CLOUDLETS,
    "Addresses and devices": ADDRESSES,
    "VMs and images": MACHINES,
    "Moves": MOVES,
    "Route servers": ROUTE_SERVERS,
}
"""The types by topic."""

EVENT_TYPES: Mapping[str, EventType] = {name: one for group in GROUPS.values() for name, one in group.items()}
