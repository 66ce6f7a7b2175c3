"""Fences: what may not cross from one cloudlet's LAN into another's, as nftables rules.

A pool bridges its members' LANs, but DHCP, router advertisements and neighbour discovery stay at home, and nobody
routes through a shared member. Start with `ruleset` (rules.py), the pure step from `Fence`s to nft text; `Nft`
(nft.py) puts it into the kernel and reads the drop counters back; generation.py tells whether it is still there.
"""

from agents.fence.nft import Dropped, Nft, NftError
from agents.fence.rules import Fence, ruleset

__all__ = ["Dropped", "Fence", "Nft", "NftError", "ruleset"]
