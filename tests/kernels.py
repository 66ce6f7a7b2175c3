"""The reports of cloudlets whose kernels agree with their desired state. There are no kernels here."""

from controller.wire.desired import Desired
from controller.wire.reports import EndpointState, Report, Tunnel


def kernel(desired: Desired) -> Report:
    """Return the report of a cloudlet whose kernel is as desired."""
    states = [
        EndpointState(
            endpoint=e.name,
            bridge=f"lan{e.index}",
            ports=[],
            tunnels=[
                Tunnel(remote=r.endpoint, vtep=r.vtep, ve_id=r.ve_id, rx_vni=1, tx_vni=1, device="pw")
                for r in e.remotes
            ],
            routes=[r.prefix for r in e.remotes],
            problems=[],
        )
        for e in desired.endpoints
    ]
    return Report(
        cloudlet=desired.cloudlet,
        version=desired.version,
        generation=desired.generation,
        agent_version="fake",
        endpoints=states,
        speakers=[],
        resident_bytes=1,
        cpu_seconds=0.1,
    )
