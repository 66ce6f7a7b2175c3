"""nftables: the door to it, and what it tells.

`Nft` (nft.py) puts rules into the kernel by the `nft` command and reads counters back; notifications.py hears of
changes by others, and generation.py tells whether there were any.
"""

from agents.nft.nft import Dropped, Elements, Nft, NftError, chains, objects

__all__ = ["Dropped", "Elements", "Nft", "NftError", "chains", "objects"]
