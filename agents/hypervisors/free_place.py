"""The choice of a place at which a destination waits."""

import random
import socket
from contextlib import suppress

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.target import HostPort


def free_place(address: str, among: range, besides: HostPort | None = None) -> HostPort:
    """Return a place at which nobody listens, `besides` excepted, at which somebody is about to. It is chosen here, as
    QEMU cannot be asked to try a second time."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in random.sample(among, len(among)):
        if besides is not None and port == besides.port:
            continue
        with socket.socket(family, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.bind((address, port))
            return HostPort(address, port)
    raise HypervisorError(f"no port of {among.start}-{among.stop - 1} at {address} is free")
