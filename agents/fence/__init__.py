"""Fences: what may not cross from one cloudlet's LAN into another's, as nftables rules.

A pool bridges its members' LANs, but DHCP, router advertisements and neighbour discovery stay at home, and nobody
routes through a shared member. At its own LAN nobody but the cloudlet is a DHCP server or a router. Start with
`ruleset` (rules.py), the pure step from `Fence`s to nft text; frames.py says which frames hide what they carry, and
budgets.py what one port may have the kernel remember; `Nft` (nft.py) puts the text into the kernel and reads the drop
counters back; generation.py tells whether it is still there.
"""

from agents.fence.budgets import TABLE as BUDGETS
from agents.fence.budgets import budgets
from agents.fence.nft import Dropped, Elements, Nft, NftError
from agents.fence.rules import OTHER_VNI, OUTSIDE, UNASKED, Fence, Underlay, ruleset

__all__ = [
    "BUDGETS",
    "OTHER_VNI",
    "OUTSIDE",
    "UNASKED",
    "Dropped",
    "Elements",
    "Fence",
    "Nft",
    "NftError",
    "Underlay",
    "budgets",
    "ruleset",
]
