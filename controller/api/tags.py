"""The tags of operations, and their descriptions. `core/roles.py` has the role that each tag needs."""

from collections.abc import Mapping

TAGS: Mapping[str, str] = {
    "cloudlets": "Edge sites, the credentials and certificates of their agents, and configurations of PEs without one.",
    "endpoints": "The LANs of cloudlets.",
    "consents": "Consent of tenants to their endpoints.",
    "vcps": "Virtual Cloud Pools.",
    "members": "Endpoints that join and leave pools.",
    "changes": "Every change of the region; those on trial are confirmed or rolled back.",
    "policy": "The policy: check, plan, apply, history, and the filters that follow from it.",
    "inventory": "The inventory: cloudlets, endpoints, devices and VMs as text; check, plan, apply, history.",
    "devices": "Devices, and their identities in DHCP.",
    "vms": "The VMs that serve devices.",
    "images": "Images of VMs, and where they are.",
    "moves": "Moves of VMs between cloudlets: predicted, decided, scheduled and under way.",
    "leases": "Leases of addresses.",
    "addresses": "How full LANs are, delegated ranges, reservations, static hosts and DNS records.",
    "sightings": "Where devices are.",
    "neighbours": "Round trips and bandwidths between cloudlets.",
    "tunnels": "Encrypted tunnels between cloudlets.",
    "routes": "The looking glass: what the route servers received, sent and hold back, and why.",
    "doctor": "The comparison of the intent with route servers and kernels.",
    "events": "Events of the region, as pages and as a stream.",
    "webhooks": "Programs that get events as they happen, signed.",
    "audit": "The audit log.",
    "tokens": "API tokens of users and programs.",
    "health": "The state of the controllers.",
    "agents": "The agents' side: enrolment, desired state, reports, leases.",
}
"""The description of each tag, in the order in which documents show them."""
