"""The endpoints from which VMs may be announced. Only the controller decides this, as it directs their moves. Devices
have no announce permits, as agents lease addresses to them without the controller. Pure."""

from collections.abc import Collection
from ipaddress import ip_address

from controller.core.intent import AnnouncePermit, Intent
from controller.core.saga import Phase, Saga, Step
from controller.wire.flavours import Flavour

MOST = 256
"""The largest number of VMs at an EVPN endpoint: route servers search their MACs for each route, and receive all of
them with each change there. A /24 has pairs for 125."""


def places(saga: Saga) -> frozenset[str]:
    """Return the endpoints at which a move lets its VM be announced: its present one, and the other end too from when
    both ends share a pool until the move is over; for longer, if it is not known whether the destination could run
    it."""
    ends = frozenset({saga.plan.source.endpoint, saga.plan.destination.endpoint})
    if saga.phase in (Phase.MOVING, Phase.UNDOING):
        both = saga.step not in (Step.AUTHORISE, Step.CONNECT)
    else:
        both = saga.placed and any(task.step in (Step.ACTIVATE, Step.ABORT) for task in saga.tasks)
    return ends if both else frozenset({saga.here.endpoint})


def differs(before: Saga, after: Saga) -> bool:
    """Return whether a step of a move changes its VM's announce permit."""
    return (places(before), before.addresses) != (places(after), after.addresses)


def permit(
    intent: Intent, name: str, macs: Collection[str], endpoints: Collection[str], addresses: Collection[str]
) -> AnnouncePermit | None:
    """Return a VM's announce permit at those of the endpoints that are EVPN, of which route servers receive MACs; None
    if there is none. `addresses` are the VM's own."""
    there = frozenset(e for e in endpoints if e in intent.endpoints and intent.flavour(e) is Flavour.EVPN)
    if not there:
        return None
    kept = tuple(a for a in addresses if any(not _of_lan(intent, e, a) for e in there))
    return AnnouncePermit(name, tuple(macs), there, kept)


def _of_lan(intent: Intent, endpoint: str, address: str) -> bool:
    plan = intent.endpoints[endpoint].plan
    return any(ip_address(address) in lan for lan in (plan.network, plan.other) if lan is not None)


def full(endpoint: str, there: int) -> str | None:
    """Return why an EVPN endpoint can have no further VM; None if it can."""
    if there < MOST:
        return None
    return f"{endpoint} has {there} VMs, and an EVPN endpoint can have {MOST}"
