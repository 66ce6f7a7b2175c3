"""An interface of a domain with its cable in or out, in the form for `virDomainUpdateDeviceFlags`. Pure."""

from xml.etree import ElementTree

from agents.hypervisors.hypervisor import HypervisorError


def plugged(domain: str, mac: str, up: bool) -> str:
    """Return the interface from the description of a running domain, with only its cable changed. Raises
    HypervisorError if the domain has no such interface."""
    for interface in ElementTree.fromstring(domain).iterfind("devices/interface"):
        address = interface.find("mac")
        if address is not None and address.get("address", "").lower() == mac.lower():
            link = interface.find("link")
            if link is None:
                link = ElementTree.SubElement(interface, "link")
            link.set("state", "up" if up else "down")
            return ElementTree.tostring(interface, encoding="unicode")
    raise HypervisorError(f"the domain has no interface with the address {mac}")
