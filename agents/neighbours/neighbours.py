"""The agent's part in the neighbour database, put together."""

import asyncio

from agents.controller.client import Controller
from agents.neighbours.prober import Prober
from agents.neighbours.reporter import Reporter
from controller.wire.neighbours import Candidates


class Neighbours:
    """Probes whom the controller names, also while it is away, and reports. Until it has named somebody, nothing
    happens: an agent that starts while the controller is away does not probe."""

    def __init__(self, cloudlet: str, controller: Controller) -> None:
        self._reporter = Reporter(cloudlet, controller)
        self._prober = Prober(self._reporter.tell)

    def intend(self, candidates: Candidates) -> None:
        """These from now on."""
        self._reporter.pace(candidates.report_seconds)
        self._prober.intend(candidates)

    async def run(self) -> None:
        """Works until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._prober.run())
            group.create_task(self._reporter.run())
