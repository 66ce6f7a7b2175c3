"""Where VMs may be announced from: that is the controller's own word, as it leads their moves. Of devices there is no
such word, as agents lease to them without it. Pure."""

from collections.abc import Collection
from ipaddress import ip_address

from controller.core.intent import AnnouncePermit, Intent
from controller.core.saga import Phase, Saga, Step
from controller.wire.flavours import Flavour

MOST = 256
"""VMs at an EVPN endpoint: route servers look through their MACs for each route, and are told of all with each change
there. A /24 has pairs for 125."""


def places(saga: Saga) -> frozenset[str]:
    """The endpoints at which a move lets its VM be announced: where it is, and from when both share a pool until the
    move is over, the other end too; for longer, if it is not known whether the destination could run it."""
    ends = frozenset({saga.plan.source.endpoint, saga.plan.destination.endpoint})
    if saga.phase in (Phase.MOVING, Phase.UNDOING):
        both = saga.step not in (Step.AUTHORISE, Step.CONNECT)
    else:
        both = saga.placed and any(task.step in (Step.ACTIVATE, Step.ABORT) for task in saga.tasks)
    return ends if both else frozenset({saga.here.endpoint})


def differs(before: Saga, after: Saga) -> bool:
    """Whether a turn of a move changes its VM's announce permit."""
    return (places(before), before.addresses) != (places(after), after.addresses)


def permit(
    intent: Intent, name: str, macs: Collection[str], endpoints: Collection[str], addresses: Collection[str]
) -> AnnouncePermit | None:
    """A VM's announce permit at those of the endpoints of which route servers are told MACs; None if it is at none.
    `addresses` are what it is known by."""
    there = frozenset(e for e in endpoints if e in intent.endpoints and intent.flavour(e) is Flavour.EVPN)
    if not there:
        return None
    kept = tuple(a for a in addresses if any(not _of_lan(intent, e, a) for e in there))
    return AnnouncePermit(name, tuple(macs), there, kept)


def _of_lan(intent: Intent, endpoint: str, address: str) -> bool:
    plan = intent.endpoints[endpoint].plan
    return any(ip_address(address) in lan for lan in (plan.network, plan.other) if lan is not None)


def full(endpoint: str, there: int) -> str | None:
    """Why no other VM can be at an EVPN endpoint; None if one can."""
    if there < MOST:
        return None
    return f"{endpoint} has {there} VMs, and an EVPN endpoint can have {MOST}"
