"""Fences: what may not cross from one cloudlet's LAN into another's, as nftables rules.

A pool bridges its members' LANs, but DHCP, router advertisements and neighbour discovery stay at home, and nobody
routes through a shared member. At its own LAN nobody but the cloudlet is a DHCP server or a router. Start with
`ruleset` (rules.py), the pure step from `Fence`s to nft text; frames.py says which frames hide what they carry, and
budgets.py what one port may have the kernel remember. `agents/nft/` puts the text into the kernel, and watch.py sees to
it that it stays there.
"""

from agents.fence.budgets import TABLE as BUDGETS
from agents.fence.budgets import budgets
from agents.fence.rules import OTHER_VNI, OUTSIDE, TABLE, UNASKED, Fence, Underlay, ruleset

__all__ = ["BUDGETS", "OTHER_VNI", "OUTSIDE", "TABLE", "UNASKED", "Fence", "Underlay", "budgets", "ruleset"]
