"""The service for VMs and their moves: sightings of devices, the decision to follow them, and the moves."""

from functools import partial
from typing import ClassVar

from controller.agents.registry import Agents
from controller.changes.service import ChangesService
from controller.leases.service import LeasesService
from controller.leases.suspicions import Suspicions
from controller.migration.evacuations import Evacuations
from controller.migration.follow_device import FollowDevice
from controller.migration.move_schedule import MoveSchedule
from controller.migration.move_scheduler import MoveScheduler
from controller.migration.moves import Moves
from controller.migration.sightings import Sightings
from controller.migration.vms import Vms
from controller.replication.replicas import Replicas
from controller.runtime.maintenance import PRUNE, Chore, sweep
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever


class MigrationService(Service):
    """Every replica takes in sightings and reports of moves; the leader decides, and carries moves out."""

    name: ClassVar[str] = "migration"

    def __init__(
        self, runtime: Runtime, registry: Agents, changes: ChangesService, leases: LeasesService, replicas: Replicas
    ) -> None:
        database, wakeup, intent = runtime.database, runtime.wakeup, changes.intent
        self._leadership = replicas.leadership
        self.moves = Moves(database, changes.flow, registry, replicas, wakeup, runtime.metrics.moves)
        self.vms = Vms(database, intent, self.moves, wakeup)
        self.scheduler = MoveScheduler(database, changes.flow, leases.leases, self.moves)
        self.schedule = MoveSchedule(database, changes.flow, self.moves, wakeup)
        self.evacuations = Evacuations(database, intent, self.moves)
        self.follow_device = FollowDevice(database, intent, self.moves.start, self.moves.initiate, wakeup)
        suspicions = Suspicions(runtime.event_log)
        self.sightings = Sightings(
            database, intent, leases.seconds, replicas, wakeup, suspicions, runtime.metrics, self.device_settled
        )

    async def device_settled(self, device: str, endpoint: str) -> None:
        """Take in that a device is taken to be at an endpoint: a move to elsewhere is given up, and the VM follows if
        it should. May be called twice for one place."""
        await self.moves.seen(device, endpoint)
        await self.follow_device.seen(device, endpoint)

    async def run(self) -> None:
        """Take in sightings; the leader decides where devices are, follows them, and carries moves out."""
        chores = [Chore(chore, PRUNE) for chore in (self.scheduler.prune, self.scheduler.hold, self.schedule.prune)]
        watching = (self.sightings.decide, self.follow_device.watch, self.scheduler.run, self.schedule.run)
        leading = (*watching, partial(sweep, chores))
        await forever(self.sightings.run, *(partial(self._leadership.lead, work) for work in leading))
