"""The WAN between the two sites of a benchmark: the lab's relay instead of a cable."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lab.relay import Relay
from tests.integration.agent_namespaces import PREFIX, Namespace
from tests.integration.ipsec_site import Lay


@contextmanager
def wan(mbit: float, rtt_ms: float) -> Iterator[Lay]:
    """Yield the function that lays the WAN; it can be called once."""
    relay = Relay(f"{PREFIX}{os.getpid()}-wan", rtt_ms)

    def lay(one: Namespace, device: str, other: Namespace, other_device: str) -> None:
        relay.lay(one.name, device, other.name, other_device, mbit)
        relay.start()

    try:
        yield lay
    finally:
        relay.close()
