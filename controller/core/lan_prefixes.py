"""The checks of an endpoint's prefixes and VNI. A check raises Refused."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address

from controller.core.addresses import MIN_MTU6, AddressPlan, PlanError
from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.refusals import conflict, invalid
from controller.wire.flavours import Flavour

DEFAULT_VNI = 10000


def plan4(intent: Intent, prefix: str, speakers: Iterable[str]) -> AddressPlan:
    """Return the IPv4 plan of a LAN. `speakers` are the route servers' addresses."""
    try:
        plan = AddressPlan.of(prefix)
    except PlanError as error:
        raise invalid("prefix", str(error)) from None
    lan = plan.network
    if not isinstance(lan, IPv4Network):
        raise invalid("prefix", f"{lan} is IPv6; a LAN's prefix is IPv4, and prefix6 its IPv6 one")
    if lan.prefixlen < 8:
        raise invalid("prefix", f"{lan} is larger than a /8")
    for what, reserved in _RESERVED.items():
        if lan.overlaps(reserved):
            raise invalid("prefix", f"{lan} is in {reserved} ({what}), where no LAN can be")
    if vtep := intent.vteps.inside(lan):
        raise conflict(f"{lan} contains {vtep}, the VTEP of cloudlet {intent.vteps.owner(vtep)}", "prefix")
    for address in speakers:
        if ip_address(address) in lan:
            raise conflict(f"{lan} contains {address}, a route server's address", "prefix")
    return plan


def plan6(prefix6: str, mtu: int) -> AddressPlan:
    """Return the IPv6 plan of a LAN with that MTU in bytes."""
    try:
        plan = AddressPlan.of(prefix6)
    except PlanError as error:
        raise invalid("prefix6", str(error)) from None
    lan = plan.network
    if not isinstance(lan, IPv6Network):
        raise invalid("prefix6", f"{lan} is IPv4; a LAN's prefix6 is IPv6")
    if lan.prefixlen < 64:
        raise invalid("prefix6", f"{lan} is larger than a /64")
    for what, reserved in _RESERVED6.items():
        if lan.overlaps(reserved):
            raise invalid("prefix6", f"{lan} is in {reserved} ({what}), where no LAN can be")
    if mtu < MIN_MTU6:
        raise invalid("mtu", f"IPv6 needs {MIN_MTU6} bytes or more, not {mtu}")
    return plan


def check_gateway(plan: AddressPlan, gateway: str) -> None:
    """Check a gateway that a request names: it has to be the plan's own. An empty one means that."""
    if gateway and gateway != str(plan.gateway):
        raise invalid("gateway", f"the gateway of {plan.network} is {plan.gateway}, the first address of the plan")


def vni_of(cloudlet: Cloudlet, vni: int | None, siblings: Iterable[Endpoint]) -> int | None:
    """Return the VNI of an endpoint, None for one that has none of its own. `siblings` are the cloudlet's other
    endpoints."""
    if cloudlet.pe is not Flavour.EVPN:
        if vni is not None and cloudlet.pe.routed:
            raise invalid("vni", f"{cloudlet.name} is a {cloudlet.pe} PE: its routes have labels of its own")
        if vni is not None:
            raise invalid("vni", f"{cloudlet.name} is a VPLS PE: its VNIs are labels, and follow from index and VE ID")
        return None
    chosen = DEFAULT_VNI if vni is None else vni
    for other in siblings:
        if other.vni == chosen:
            raise conflict(f"{other.name} of {cloudlet.name} has VNI {chosen}; choose another", "vni")
    return chosen


_RESERVED6 = {
    "unspecified, loopback and IPv4 addresses": IPv6Network("::/8"),
    "link-local": IPv6Network("fe80::/10"),
    "site-local": IPv6Network("fec0::/10"),
    "multicast": IPv6Network("ff00::/8"),
}

_RESERVED = {
    "this network": IPv4Network("0.0.0.0/8"),
    "loopback": IPv4Network("127.0.0.0/8"),
    "link-local": IPv4Network("169.254.0.0/16"),
    "multicast": IPv4Network("224.0.0.0/4"),
    "reserved": IPv4Network("240.0.0.0/4"),
}
