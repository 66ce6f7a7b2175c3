"""The agent's part in the neighbour database: the prober and the reporter together."""

import asyncio
from collections.abc import Callable

from agents.controller.client import Controller
from agents.neighbours.prober import Prober
from agents.neighbours.reporter import Reporter
from agents.neighbours.samples import Round
from controller.wire.neighbours import Candidates


class Neighbours:
    """Probes the cloudlets that the controller names, also while the controller is away, and reports. Before the
    controller has named any, nothing happens: an agent that starts while the controller is away does not probe.
    `counted` gets the numbers of echoes sent and received in each round."""

    def __init__(
        self, cloudlet: str, controller: Controller, counted: Callable[[int, int], None] = lambda _sent, _received: None
    ) -> None:
        self._reporter, self._counted = Reporter(cloudlet, controller), counted
        self._prober = Prober(self._found)

    def intend(self, candidates: Candidates) -> None:
        """Probe these cloudlets from now on."""
        self._reporter.pace(candidates.report_seconds)
        self._prober.intend(candidates)

    async def run(self) -> None:
        """Probe and report until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._prober.run())
            group.create_task(self._reporter.run())

    def _found(self, neighbour: str, found: Round, soon: bool) -> None:
        self._counted(found.sent, found.received)
        self._reporter.tell(neighbour, found, soon)
