"""Access to nftables and its notifications.

`Nft` (nft.py) loads rules into the kernel with the `nft` command and reads counters back. notifications.py receives
changes by others, and generation.py tells whether there were any.
"""

from agents.nft.nft import Dropped, Elements, Nft, NftError, chains, objects

__all__ = ["Dropped", "Elements", "Nft", "NftError", "chains", "objects"]
