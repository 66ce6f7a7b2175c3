"""The TCP ports at which a cloudlet's drivers wait for machines that come. Pure."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from agents.hypervisors.hypervisor import Refused

USUAL = "49152-49215"
"""Unless a driver's option `ports` says otherwise."""

LOWEST = 1024
"""The first port that is no system port (RFC 6335, section 6): a source connects to none below."""


def ports(options: Mapping[str, str]) -> range:
    """Of a driver with these options. Raises Refused, naming the option."""
    said = options.get("ports", USUAL)
    first, _, last = said.partition("-")
    try:
        found = range(int(first), int(last) + 1)
    except ValueError:
        found = range(0)
    if not found or not LOWEST <= found.start < found.stop <= 1 << 16:
        raise Refused(f"option 'ports': {said!r} is no range such as {USUAL}, from {LOWEST} on")
    return found


def arrivals(drivers: Iterable[Mapping[str, str]]) -> tuple[range, ...]:
    """All at which anybody could wait, from the options of the drivers that are configured: the usual ones are among
    them, as one needs no configuration. What cannot be read its driver refuses, and waits nowhere."""
    found = {ports({})}
    for options in drivers:
        with suppress(Refused):
            found.add(ports(options))
    return tuple(sorted(found, key=lambda each: (each.start, each.stop)))
