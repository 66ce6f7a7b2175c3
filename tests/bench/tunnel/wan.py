"""A WAN between two namespaces: the lab's relay in a third one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.paths import BIN
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.ipsec_site import Lay

LIMIT = 1000
"""Packets that wait for the line at most: 30 ms of them at 350 Mbit/s."""


@contextmanager
def wan(mbit: float, one_way_ms: float, directory: Path) -> Iterator[Lay]:
    """How to lay such a cable, once."""
    with namespaces("wan") as [space]:

        def lay(one: Namespace, device: str, other: Namespace, other_device: str) -> None:
            cable(one, device, space, "west")
            cable(other, other_device, space, "east")
            for end, name in ((one, device), (other, other_device), (space, "west"), (space, "east")):
                end.run(f"ethtool -K {name} tx off tso off gso off gro off")
            link = f"wan,west,east,{one_way_ms * 1000:.0f},0,0,{mbit * 1000:.0f},{LIMIT}"
            space.spawn(str(BIN / "wanrelay"), link, log=directory / "relay")

        yield lay
