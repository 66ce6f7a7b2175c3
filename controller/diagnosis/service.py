"""The service for the doctor: one comparison at a time, for all who ask."""

from typing import ClassVar

from controller.changes.service import ChangesService
from controller.core.desired import Fabric
from controller.diagnosis.doctor import Doctor
from controller.diagnosis.verdict import Verdict
from controller.leases.service import LeasesService
from controller.replication.service import ReplicationService
from controller.routeservers.service import RouteServersService
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever
from controller.runtime.shared_work import SharedWork


class DiagnosisService(Service):
    """`doctor` observes the region; `examination` is its comparison of everything, shared by all who ask."""

    name: ClassVar[str] = "diagnosis"

    def __init__(
        self,
        runtime: Runtime,
        fabric: Fabric,
        changes: ChangesService,
        replication: ReplicationService,
        servers: RouteServersService,
        leases: LeasesService,
    ) -> None:
        self.doctor = Doctor(runtime.database, fabric, changes, replication, servers, leases.clones)
        self.examination: SharedWork[Verdict] = SharedWork(self.doctor.examine)

    async def run(self) -> None:
        """Examine the region whenever somebody asks."""
        await forever(self.examination.run)
