"""Events about cloudlets: their agents, certificates, neighbours, tunnels, and what their fences drop."""

from collections.abc import Mapping

from controller.core.event_types.event_type import EventType

_TUNNEL = ("cloudlets", "since")
_DROPPED = ("cloudlet", "what", "packets")


def _dropped(when: str) -> EventType:
    """Return a type about packets that a cloudlet drops and counts; one event in ten minutes for each LAN and kind."""
    return EventType(when, "endpoint, cloudlet", "device, PE", _DROPPED)


CLOUDLETS: Mapping[str, EventType] = {
    "cloudlet-invited": EventType("A cloudlet was added, with a token for its agent.", "cloudlet", "operator"),
    "cloudlet-added": EventType("A cloudlet whose PE has no agent was added.", "cloudlet", "operator"),
    "cloudlet-token": EventType("A new enrolment token was made.", "cloudlet", "operator"),
    "cloudlet-enrolled": EventType("An agent enrolled with its token.", "cloudlet", "agent"),
    "cloudlet-approved": EventType("A cloudlet was made active.", "cloudlet", "operator"),
    "cloudlet-described": EventType("A cloudlet got other labels or another position.", "cloudlet", "operator"),
    "cloudlet-changed": EventType(
        "A cloudlet got another VTEP, AS number, bound of hops or rule of approval.", "cloudlet", "operator"
    ),
    "cloudlet-drained": EventType("A cloudlet left all pools, and is kept out of them.", "cloudlet", "operator"),
    "cloudlet-removed": EventType("A cloudlet was removed with its endpoints.", "cloudlet", "operator"),
    "agent-refused": EventType(
        "A request with an agent's credential or certificate was refused; the text has the reason.",
        "cloudlet, `agents`",
        "agent, stranger",
    ),
    "agent-problems": EventType("An agent cannot do something, or can again.", "cloudlet", "agent", ("problems",)),
    "rules-gone": EventType(
        "Another program removed the agent's nftables rules; the agent has restored them.",
        "cloudlet",
        "agent",
        ("milliseconds",),
    ),
    "mac-duplicate": EventType(
        "A MAC alternates between two places of a LAN.", "cloudlet", "agent", ("mac", "endpoint", "places")
    ),
    "certificate-issued": EventType("A certificate was issued.", "cloudlet", "agent", ("serial",)),
    "certificate-revoked": EventType("A certificate was revoked.", "cloudlet", "operator", ("serial", "reason")),
    "authority-changed": EventType("The trusted or issuing authorities changed.", "`authority`", "operator"),
    "authority-ends": EventType(
        "The authority's certificate ends within a month; once a day.", "`authority`", "controller"
    ),
    "session-keys": EventType("A cloudlet's BGP sessions get another key, or none.", "cloudlet", "operator"),
    "neighbour-possible": EventType("Cloudlets have become possible neighbours.", "cloudlet", "agent", ("neighbours",)),
    "neighbour-lost": EventType(
        "Cloudlets are no longer possible neighbours: too slow, or silent.", "cloudlet", "agent", ("neighbours",)
    ),
    "tunnel-down": EventType(
        "A needed encrypted tunnel has been missing for more than 5 s.", "two cloudlets", "agent", _TUNNEL
    ),
    "tunnel-up": EventType("Both ends have the tunnel again.", "two cloudlets", "agent", _TUNNEL),
    "tunnel-unneeded": EventType("A missing tunnel is no longer needed.", "two cloudlets", "controller", _TUNNEL),
    "plaintext-dropped": EventType(
        "A guard dropped unencrypted VXLAN; at most every ten minutes.",
        "cloudlet",
        "PE, stranger",
        ("out", "in", "peers"),
    ),
    "rogue-dhcp": _dropped("A client at an access port answers as a DHCP server."),
    "rogue-router": _dropped("A client at an access port advertises itself as a router."),
    "gateway-spoofed": _dropped("A client at an access port uses the gateway's addresses."),
    "address-spoofed": _dropped("A client at an access port uses an address that it has not leased."),
    "frames-hidden": _dropped("A client at an access port sends tagged frames, or headers that hide a packet."),
    "too-many-macs": _dropped("More MACs come from an access port or a tunnel than the bridge learns of one."),
    "too-many-addresses": _dropped(
        "More addresses come from an access port or a tunnel than the gateway keeps of one."
    ),
    "address-scan": _dropped("A client has the gateway look for more addresses than it does for one port or tunnel."),
    "too-many-requests": _dropped("A port or tunnel asks more of DHCP or the router than one may."),
    "vxlan-injected": _dropped("VXLAN came from a VTEP that shares no pool, or with the VNI of another's tunnel."),
}
