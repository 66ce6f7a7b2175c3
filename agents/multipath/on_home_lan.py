"""Whether an address is of the LAN that its machine is in, whose server renews its lease. Pure."""

from ipaddress import ip_network

from agents.multipath.segment import Address
from controller.wire.desired import Desired


def on_home_lan(desired: Desired | None, endpoint: str, address: Address) -> bool:
    """Also not if this cloudlet does not know that endpoint."""
    lans = desired.endpoints if desired is not None else ()
    return any(lan.name == endpoint and address in ip_network(lan.prefix, strict=False) for lan in lans)
