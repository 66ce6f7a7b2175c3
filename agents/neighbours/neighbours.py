"""The agent's part in the neighbour database: the prober and the reporter together."""

import asyncio

from agents.controller.client import Controller
from agents.neighbours.prober import Prober
from agents.neighbours.reporter import Reporter
from controller.wire.neighbours import Candidates


class Neighbours:
    """Probes the cloudlets that the controller names, also while the controller is away, and reports. Before the
    controller has named any, nothing happens: an agent that starts while the controller is away does not probe."""

    def __init__(self, cloudlet: str, controller: Controller) -> None:
        self._reporter = Reporter(cloudlet, controller)
        self._prober = Prober(self._reporter.tell)

    def intend(self, candidates: Candidates) -> None:
        """Probe these cloudlets from now on."""
        self._reporter.pace(candidates.report_seconds)
        self._prober.intend(candidates)

    async def run(self) -> None:
        """Probe and report until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._prober.run())
            group.create_task(self._reporter.run())
