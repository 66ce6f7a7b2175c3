"""The parts that every service of a controller works with."""

import asyncio
from dataclasses import dataclass, field

from controller.db.engine import Database
from controller.runtime.event_log import EventLog
from controller.runtime.metrics import Metrics
from controller.runtime.wakeup import Wakeup


@dataclass(frozen=True)
class Runtime:
    """The shared parts. `wakeup` rings when something that a stream shows has changed. `stopping` is set once, when the
    controller stops: then streams and waits end."""

    database: Database
    wakeup: Wakeup
    event_log: EventLog
    metrics: Metrics = field(default_factory=Metrics)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
