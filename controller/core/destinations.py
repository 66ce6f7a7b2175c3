"""Where a VM may be moved to. Pure."""

from controller.core.intent import Intent, State
from controller.core.refusals import conflict
from controller.core.saga import Plan
from controller.core.tenants import no_place, waiting


def authorise(intent: Intent, plan: Plan) -> None:
    """Whether the VM may be moved there at all. Raises Refused."""
    ends = [intent.endpoints.get(place.endpoint) for place in (plan.source, plan.destination)]
    source, destination = ends
    if source is None or destination is None:
        gone = (plan.source if source is None else plan.destination).endpoint
        raise conflict(f"there is no endpoint {gone!r} any more", "endpoint")
    cloudlet = intent.cloudlets[destination.cloudlet]
    if cloudlet.state is not State.ACTIVE:
        raise conflict(
            f"{destination.name} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}", "endpoint"
        )
    if intent.flavour(source.name) is not cloudlet.pe:
        raise conflict(
            f"{source.name} is {intent.flavour(source.name)} and {destination.name} {cloudlet.pe}", "endpoint"
        )
    if source.tenant != destination.tenant:
        whose = f"{source.name} is of tenant {source.tenant or 'none'}"
        raise conflict(f"{whose}, {destination.name} of {destination.tenant or 'none'}", "endpoint")
    if refused := no_place(intent.policy, source.tenant, cloudlet):
        raise conflict(refused, "endpoint")
    if intent.held(destination.name):
        raise conflict(waiting(destination), "endpoint")
