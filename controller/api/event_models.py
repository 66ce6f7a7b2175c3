"""The events of each stream, and the models of their data. OpenAPI 3.1 describes no streams, so the description has
them under `x-events` of the media type `text/event-stream`: a reference to a schema by the event's name."""

from collections.abc import Mapping
from typing import Any

from controller.api.events import Event
from controller.api.looking_glass import WatchBegun, WatchCut, WatchedChange, WatchLost
from controller.api.moves import MoveInFull
from controller.wire.access import Access
from controller.wire.certificates import Authorities, Revocations
from controller.wire.desired import Desired
from controller.wire.images import WantedImages
from controller.wire.moves import Orders
from controller.wire.neighbours import Candidates
from controller.wire.probes import ProbeRequest
from controller.wire.session_keys import SessionKeys

ANY = "*"
"""Stands for every name: the names of events on this stream are the types of the region's events."""

EVENT_MODELS: Mapping[str, Mapping[str, Any]] = {
    "GET /api/v1/agent/desired": {
        "access": Access,
        "desired": Desired,
        "session-keys": SessionKeys,
        "candidates": Candidates,
        "orders": Orders,
        "images": WantedImages,
        "probes": ProbeRequest,
        "authorities": Authorities,
        "revocations": Revocations,
    },
    "GET /api/v1/events": {ANY: Event},
    "GET /api/v1/moves/{name}": {"move": MoveInFull},
    "GET /api/v1/routes/watch": {
        **dict.fromkeys(
            ("announced", "withdrawn", "quarantined", "sent", "unsent", "withheld", "held"),
            WatchedChange,
        ),
        "watching": WatchBegun,
        "lost": WatchLost,
        "cut": WatchCut,
    },
}
"""The models of the events, by the operation that streams them."""
