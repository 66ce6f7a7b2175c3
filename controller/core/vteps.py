"""The checks of a cloudlet's VTEP and of its PE. A check raises Refused."""

from collections.abc import Iterable
from ipaddress import IPv4Address

from controller.core.intent import Cloudlet, Intent
from controller.core.refusals import conflict, invalid

AS_TRANS = 23456
"""The AS number that stands for those of four octets (RFC 6793, section 9)."""


def parse_vtep(text: str) -> IPv4Address:
    """Return the address of a VTEP."""
    try:
        vtep = IPv4Address(text)
    except ValueError:
        raise invalid("vtep", f"{text!r} is not an IPv4 address") from None
    if vtep.is_unspecified or vtep.is_multicast or vtep == IPv4Address("255.255.255.255"):
        raise invalid("vtep", f"{vtep} is not an address that a host can have")
    return vtep


def check_vtep(intent: Intent, name: str, vtep: IPv4Address, speakers: Iterable[str]) -> None:
    """Check that the cloudlet of that name may have the VTEP. `speakers` are the route servers' addresses. A VTEP may
    be one of them only if the cloudlet is the host of that route server and has its name."""
    if (owner := intent.vteps.owner(str(vtep))) not in (None, name):
        raise conflict(f"{vtep} is the VTEP of cloudlet {owner}", "vtep")
    server = next((name for name, address in intent.route_servers.items() if address == str(vtep)), None)
    if (server is not None or str(vtep) in set(speakers)) and server != name:
        whose = (
            f"the address of route server {server}: its host has that name" if server else "a route server's address"
        )
        raise conflict(f"{vtep} is {whose}", "vtep")
    for lan in intent.lans.around(vtep):
        raise conflict(f"{vtep} is inside {intent.endpoints[lan].prefix}, the LAN of {lan}", "vtep")


def check_session(cloudlet: Cloudlet) -> None:
    """Check the AS number and the distance of a cloudlet's PE."""
    for field in ("asn", "ttl_security"):
        if getattr(cloudlet, field) is not None and not cloudlet.unmanaged:
            raise invalid(field, f"only an unmanaged PE has its own: an agent configures the PE of {cloudlet.name}")
    if cloudlet.asn == AS_TRANS:
        raise invalid("asn", f"{AS_TRANS} stands for AS numbers of four octets: no PE has it (RFC 6793)")
