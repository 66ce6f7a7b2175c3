"""MAC addresses that operators give: any vendor's notation is accepted, and only an interface's address. Pure."""

from netaddr import EUI, AddrFormatError, mac_unix_expanded

EXAMPLE = "02:00:5e:00:00:01"


def mac_of(text: str) -> str:
    """Return the address in the form in which it is stored, from any vendor's notation (`0200.5e00.0001`,
    `02-00-5E-…`). Raises ValueError if it is not a MAC address, or not one that an interface can have."""
    try:
        mac = str(EUI(text.strip(), version=48, dialect=mac_unix_expanded))
    except (AddrFormatError, ValueError, TypeError):
        raise ValueError(f"{text!r} is not a MAC address, such as {EXAMPLE}") from None
    if why := _no_interfaces(mac):
        raise ValueError(f"{mac} is {why}: no interface has it; one is such as {EXAMPLE}")
    return mac


def _no_interfaces(mac: str) -> str:
    """Return why an interface cannot have the address (IEEE 802, clause 8.2.2); empty if it can."""
    if mac == "ff:ff:ff:ff:ff:ff":
        return "the broadcast address"
    if int(mac[:2], 16) & 1:
        return "a group's address (multicast)"
    return "no address at all (zero)" if mac == "00:00:00:00:00:00" else ""
