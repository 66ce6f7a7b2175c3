"""`addresses.hosts`, for all LANs and for each: the settings that hosts receive with their address."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Address, ip_address, ip_network
from typing import Any

from controller.core.policy.policy import Policy
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError
from controller.wire.host_settings import HostSettings

ROOM = 250
"""Octets of settings in a DHCP answer: every client takes 576 (RFC 2131, section 2), and the rest is used otherwise."""


def read(data: Mapping[str, Any], otherwise: HostSettings) -> HostSettings:
    """Return the settings; `data` is valid by the schema. Settings that it leaves out are as in `otherwise`."""
    return HostSettings(**{**otherwise.model_dump(), **data})


def errors(policy: Policy, here: Path, given: Mapping[str, Any], hosts: HostSettings) -> Iterator[DocumentError]:
    """Yield the errors in the settings at `here`, of which the file has `given`."""
    for key in ("dns", "ntp"):
        for i, text in enumerate(given.get(key, ())):
            if why := _no_server(text):
                yield policy.error((*here, key, i), f"{text} {why}")
    for key, names in (("domain", [given["domain"]] if "domain" in given else []), ("search", given.get("search", ()))):
        for i, name in enumerate(names):
            if not all(label and len(label) < 64 and label.strip("-") == label for label in name.split(".")):
                at = (*here, key) if key == "domain" else (*here, key, i)
                yield policy.error(
                    at, f"{name} is not a domain name: a label is empty, or begins or ends with a hyphen"
                )
    yield from _routes(policy, (*here, "routes"), given)
    if (octets := _octets(hosts)) > ROOM:
        message = f"these settings take {octets} octets of a DHCP answer; {ROOM} are there: use fewer or shorter ones"
        yield policy.error(here, message)


def _no_server(text: str) -> str | None:
    try:
        address = ip_address(text)
    except ValueError:
        return "is not an IP address"
    if address.is_multicast or address.is_unspecified or address.is_loopback:
        return "is not an address of a server that hosts can reach"
    if isinstance(address, IPv6Address) and address.is_link_local:
        return "is a link-local address, which means another host on each link"
    return None


def _routes(policy: Policy, here: Path, given: Mapping[str, Any]) -> Iterator[DocumentError]:
    seen: dict[object, str] = {}
    for i, route in enumerate(given.get("routes", ())):
        to, at = route["to"], (*here, i, "to")
        try:
            network = ip_network(to)
        except ValueError as error:
            yield policy.error(at, f"{to} is not a prefix: {error}")
            continue
        if network in seen:
            yield policy.error(at, f"{to} has a route already")
        if "via" in route and not isinstance(network, IPv4Network):
            message = "router advertisements only name routes through the cloudlet itself (RFC 4191): leave `via` out"
            yield policy.error((*here, i, "via"), message)
        elif "via" in route and "lans" not in here:
            message = "a router is on one LAN: name it below `lans`, or leave `via` out for each LAN's cloudlet"
            yield policy.error((*here, i, "via"), message)
        seen[network] = to


def against(policy: Policy, here: Path, hosts: HostSettings, prefix: str, name: str) -> Iterator[DocumentError]:
    """Yield the errors that show once the LAN is known: a router has to be on it."""
    for i, route in enumerate(hosts.routes):
        if route.via is not None and ip_address(route.via) not in ip_network(prefix):
            yield policy.error((*here, "routes", i, "via"), f"{route.via} is not in {prefix}, the LAN of {name}")


def _octets(hosts: HostSettings) -> int:
    """Return the size of the DHCP options (RFC 2132, RFC 3397, RFC 3442)."""
    servers = sum(2 + 4 * sum(":" not in text for text in some) for some in (hosts.dns, hosts.ntp) if some)
    names = (2 + len(hosts.domain) if hosts.domain else 0) + sum(len(name) + 2 for name in hosts.search)
    routes = [to for to in (ip_network(route.to, strict=False) for route in hosts.routes) if to.version == 4]
    return servers + names + sum(5 + -(-to.prefixlen // 8) for to in routes) + (9 if routes or hosts.search else 0)
