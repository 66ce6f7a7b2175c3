"""The TCP ports at which a cloudlet's drivers wait for machines. Pure."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from agents.hypervisors.hypervisor import Refused

USUAL = "49152-49215"
"""The ports unless a driver's option `ports` says otherwise."""

LOWEST = 1024
"""The first port that is no system port (RFC 6335, section 6). A source connects to no lower port."""


def ports(options: Mapping[str, str]) -> range:
    """Return the ports of a driver with these options. Raises Refused, naming the option."""
    said = options.get("ports", USUAL)
    first, _, last = said.partition("-")
    try:
        found = range(int(first), int(last) + 1)
    except ValueError:
        found = range(0)
    if not found or not LOWEST <= found.start < found.stop <= 1 << 16:
        raise Refused(f"option 'ports': {said!r} is not a range such as {USUAL}, from {LOWEST} on")
    return found


def arrivals(drivers: Iterable[Mapping[str, str]]) -> tuple[range, ...]:
    """Return all ports at which a driver could wait, from the options of the configured drivers. The usual ports are
    always among them, as a driver needs no configuration. Options that cannot be read are left out: their driver
    refuses them, and waits nowhere."""
    found = {ports({})}
    for options in drivers:
        with suppress(Refused):
            found.add(ports(options))
    return tuple(sorted(found, key=lambda each: (each.start, each.stop)))
