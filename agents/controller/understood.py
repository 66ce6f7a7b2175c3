"""The controller's documents as this release understands them, so that the controller knows what it can send."""

from agents.controller.client import FOLLOWED
from controller.wire.desired import Desired
from controller.wire.optional_fields import optional

UNDERSTOOD: tuple[str, ...] = tuple(sorted({*FOLLOWED, *optional(Desired, "desired")}))
"""The documents on the stream, and the optional fields of the desired state."""
