"""Tells whether an address is of the LAN in which its machine is: that LAN's server renews the lease. Pure."""

from ipaddress import ip_network

from agents.multipath.segment import Address
from controller.wire.desired import Desired


def on_home_lan(desired: Desired | None, endpoint: str, address: Address) -> bool:
    """Return whether the address is of the endpoint's own LAN; False if this cloudlet does not know the endpoint."""
    lans = desired.endpoints if desired is not None else ()
    return any(lan.name == endpoint and address in ip_network(lan.prefix, strict=False) for lan in lans)
