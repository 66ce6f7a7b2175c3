"""Renumbering: a LAN gets other prefixes. Pure; edits raise Refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from controller.core.addresses import AddressPlan, PlanError
from controller.core.intent import Endpoint, Intent
from controller.core.policy.model import LanPlan
from controller.core.refusals import conflict

FEW = 3
"""Dependents that a refusal names; of more it gives the number."""


@dataclass(frozen=True)
class Dependents:
    """The dependents of a LAN's present addresses, as they are named to users: leases and reservations, static hosts,
    VMs, and moves from or to it."""

    leases: Sequence[str] = ()
    reservations: Sequence[str] = ()
    static_hosts: Sequence[str] = ()
    vms: Sequence[str] = ()
    moves: Sequence[str] = ()


def renumbers(was: Endpoint, now: Endpoint) -> bool:
    """Return whether an alteration takes addresses away that are in the present plan. IPv6 that is added takes none, if
    its prefix has room for as many pairs."""
    six = was.prefix6 is not None and was.prefix6 != now.prefix6
    return was.prefix != now.prefix or six or now.plan.capacity < was.plan.capacity


def check_dependents(intent: Intent, now: Endpoint, dependents: Dependents) -> None:
    """Check that nothing depends on the present addresses of an endpoint that is to become `now`."""
    field = "prefix" if intent.endpoints[now.name].prefix != now.prefix else "prefix6"
    said = {
        "end or release the leases first": dependents.leases,
        "give up the reservations first": dependents.reservations,
        "give up the static hosts first": dependents.static_hosts,
        "move or remove the VMs first": dependents.vms,
        "wait for the end of the moves": dependents.moves,
        "apply a policy without them first": list(_of_policy(intent.policy.addresses.lans.get(now.name), now)),
    }
    for remedy, names in said.items():
        if names:
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            text = f"{', '.join(names[:FEW])}{more} depend on the present addresses of {now.name}: {remedy}"
            raise conflict(text if len(names) > 1 else text.replace(" depend on ", " depends on ", 1), field)


def _of_policy(lan: LanPlan | None, now: Endpoint) -> list[str]:
    """Return the reservations and exclusions of the policy that the new plan has no place for."""
    if lan is None:
        return []
    found = [f"the policy's reservation of {a} for {d}" for d, a in lan.reservations.items() if not _fits(now.plan, a)]
    spans = (span for span in lan.exclusions if any(ip_address(end) not in now.plan.network for end in span))
    return [*found, *(f"the policy's exclusion of {first}-{last}" for first, last in spans)]


def _fits(plan: AddressPlan, address: str) -> bool:
    try:
        plan.index_of(ip_address(address))
    except (PlanError, ValueError):
        return False
    return True
