"""Fences: nftables rules that keep traffic of one cloudlet's LAN out of another's.

A pool bridges its members' LANs, but DHCP, router advertisements and link-local neighbour discovery stay at home, and
nobody routes through a shared member. At its own LAN only the cloudlet is a DHCP server and a router. Start with
`ruleset` (rules.py), the pure step from `Fence`s to nft text. frames.py matches frames that hide their contents, and
budgets.py limits what the kernel remembers for one port. `agents/nft/` loads the text into the kernel, and watch.py
makes sure that it stays there.
"""

from agents.fence.budgets import TABLE as BUDGETS
from agents.fence.budgets import budgets
from agents.fence.rules import OTHER_VNI, OUTSIDE, TABLE, UNASKED, Fence, Underlay, ruleset

__all__ = ["BUDGETS", "OTHER_VNI", "OUTSIDE", "TABLE", "UNASKED", "Fence", "Underlay", "budgets", "ruleset"]
