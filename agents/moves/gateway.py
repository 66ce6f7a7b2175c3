"""What the gateway of a LAN remembers of a machine that has given an address back. FRR announces who is in its kernel's
neighbour table, and would go on with an address that is nobody's any more (RFC 7432, section 10: MAC/IP routes)."""

import logging

from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import DeleteNeighbour

log = logging.getLogger(__name__)


async def forget(bridge: str, addresses: tuple[str, ...]) -> None:
    """Takes these out of the neighbour table of a LAN's bridge. Where that fails they stay until the kernel itself
    lets go of them."""
    try:
        async with Kernel() as kernel:
            for address in addresses:
                await kernel.apply(DeleteNeighbour(bridge, address))
    except KernelError as error:
        log.warning("%s", error)
