"""The endpoints to which a VM may be moved, and the reasons why it cannot be moved at all. Pure."""

from controller.core.announce_permits import full
from controller.core.intent import CloudletState, Intent
from controller.core.refusals import conflict
from controller.core.saga import Plan
from controller.core.tenants import no_place, waiting


def authorise(intent: Intent, plan: Plan) -> None:
    """Check that the VM may be moved to the plan's destination. Raises Refused."""
    ends = [intent.endpoints.get(place.endpoint) for place in (plan.source, plan.destination)]
    source, destination = ends
    if source is None or destination is None:
        gone = (plan.source if source is None else plan.destination).endpoint
        raise conflict(f"there is no endpoint {gone!r} any more", "endpoint")
    cloudlet = intent.cloudlets[destination.cloudlet]
    if cloudlet.state is not CloudletState.ACTIVE:
        raise conflict(
            f"{destination.name} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}", "endpoint"
        )
    check_agent(intent, destination.name)
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
    if refused := full(destination.name, len(intent.permits_of.get(destination.name, ()))):
        raise conflict(refused, "endpoint")


def check_agent(intent: Intent, endpoint: str) -> None:
    """Check that an endpoint's cloudlet has an agent, whose driver would run a VM. Raises Refused."""
    cloudlet = intent.cloudlets[intent.endpoints[endpoint].cloudlet]
    if cloudlet.unmanaged:
        raise conflict(f"{endpoint} cannot have a VM: {cloudlet.name} has no agent", "endpoint")


def within_reach(intent: Intent, endpoint: str) -> frozenset[str]:
    """Return the cloudlets to which a VM at an endpoint may move by its pools and its tenant, and the endpoint's
    own."""
    own = intent.endpoints[endpoint]
    others = (intent.endpoints[name] for name in intent.remotes(endpoint))
    near = {lan.cloudlet for lan in others if lan.tenant == own.tenant}
    return frozenset({own.cloudlet} | {name for name in near if not intent.cloudlets[name].unmanaged})


def cut_off(intent: Intent, endpoint: str) -> str | None:
    """Return why no VM can be moved away from an endpoint: it is in no pool. None if it is in one."""
    if intent.pools_of.get(endpoint):
        return None
    cloudlet = intent.cloudlets[intent.endpoints[endpoint].cloudlet]
    if cloudlet.state is not CloudletState.DRAINING:
        return f"{endpoint} is in no pool, and a VM moves within a pool"
    first = f"approve {cloudlet.name}, have {endpoint} join its pool again, and evacuate before draining"
    return f"{endpoint} is in no pool, because {cloudlet.name} is draining: {first}"
