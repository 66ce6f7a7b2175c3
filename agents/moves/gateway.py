"""The gateway's neighbour entries for a machine that has given an address back. FRR announces the addresses in its
kernel's neighbour table. It would go on with an address that nobody has any more (RFC 7432, section 10: MAC/IP
routes)."""

import logging

from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import DeleteNeighbour

log = logging.getLogger(__name__)


async def forget(bridge: str, addresses: tuple[str, ...]) -> None:
    """Delete these addresses from the neighbour table of a LAN's bridge. If that fails they stay until the kernel
    itself drops them."""
    try:
        async with Kernel() as kernel:
            for address in addresses:
                await kernel.apply(DeleteNeighbour(bridge, address))
    except KernelError as error:
        log.warning("%s", error)
