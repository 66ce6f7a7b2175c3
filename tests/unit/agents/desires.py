"""Desired states for agents' unit tests."""

from typing import Any

from controller.wire.desired import Desired, Endpoint, Remote, Speaker
from controller.wire.flavours import Flavour


def endpoint(site: int, index: int = 1, flavour: Flavour = Flavour.VPLS, **changes: Any) -> Endpoint:
    """Return the endpoint with this site number, at the cloudlet with the same number. It has no remotes."""
    values: dict[str, Any] = {
        "name": f"e{site}",
        "index": index,
        "flavour": flavour,
        "prefix": f"10.{site % 256}.{site // 256}.0/24",
        "gateway": f"10.{site % 256}.{site // 256}.1",
        "ports": [f"md{index}-*"],
        "rt": f"65000:{site}",
        "rd": f"65000:{site}",
        "ve_id": site if flavour is Flavour.VPLS else None,
        "vni": 10000 if flavour is Flavour.EVPN else None,
        "vtep": vtep(site),
        "mtu": 1450,
        "lease_seconds": 3600,
        "remotes": [],
    }
    return Endpoint(**(values | changes))


def remote(of: Endpoint) -> Remote:
    """Return the endpoint as its remotes see it."""
    return Remote(
        endpoint=of.name, cloudlet=f"c{of.name}", prefix=of.prefix, vtep=of.vtep, ve_id=of.ve_id, prefix6=of.prefix6
    )


def dual(site: int) -> dict[str, Any]:
    """Return the settings that add IPv6 to an endpoint's LAN."""
    return {"prefix6": f"2001:db8:{site:x}::/64", "gateway6": f"2001:db8:{site:x}::1"}


def desired(*endpoints: Endpoint, **changes: Any) -> Desired:
    """Return the desired state of a cloudlet with these endpoints."""
    values: dict[str, Any] = {
        "version": 1,
        "generation": 1,
        "cloudlet": "c1",
        "asn": 65000,
        "router_id": "192.0.2.1",
        "vtep": "192.0.2.1",
        "speakers": [Speaker(name="rs1", address="192.0.2.250", asn=65000)],
        "endpoints": list(endpoints),
    }
    return Desired(**(values | changes))


def vtep(site: int) -> str:
    """Return the VTEP of a site."""
    return f"192.0.{2 + site // 256}.{site % 256}"
