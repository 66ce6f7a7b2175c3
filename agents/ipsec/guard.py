"""The guard: VXLAN goes through IPsec, or nowhere. Pure; nft text.

It knows no names and no addresses, so no change of membership touches it: whoever is no peer gets nothing either. It
stays in the kernel when the agent ends, and when charon does. What is encrypted leaves by charon's device, where ESP is
charon's own, or by a route with a transformation, where it is the kernel's; what was encrypted comes that way too, so
frames that somebody outside makes up do not get in.
"""

from agents.kernel import VXLAN_PORT

FAMILY, TABLE = "inet", "weft-ipsec"
DEVICE = "ipsec0"
"""The device by which charon's own ESP takes and gives packets."""

OPEN = f"table {FAMILY} {TABLE}\ndelete table {FAMILY} {TABLE}\n"
"""Takes the guard out, if it is there."""

GUARD = f"""table {FAMILY} {TABLE} {{
	counter out {{ }}
	counter in {{ }}
	set meant_for {{ type ipv4_addr; size 4096; flags dynamic; counter; }}
	set came_from {{ type ipv4_addr; size 4096; flags dynamic; counter; }}
	chain output {{ type filter hook output priority filter; policy accept; }}
	chain input {{ type filter hook input priority filter; policy accept; }}
}}
flush chain {FAMILY} {TABLE} output
flush chain {FAMILY} {TABLE} input
table {FAMILY} {TABLE} {{
	chain output {{
		udp dport {VXLAN_PORT} oifname != {{ "{DEVICE}", "lo" }} rt ipsec missing update @meant_for {{ ip daddr }}
		udp dport {VXLAN_PORT} oifname != {{ "{DEVICE}", "lo" }} rt ipsec missing counter name out drop
	}}
	chain input {{
		udp dport {VXLAN_PORT} iifname != {{ "{DEVICE}", "lo" }} meta ipsec missing update @came_from {{ ip saddr }}
		udp dport {VXLAN_PORT} iifname != {{ "{DEVICE}", "lo" }} meta ipsec missing counter name in drop
	}}
}}
"""
"""Puts it in, or in the place of one that is there, whose counters go on. Whose packets they were is counted by a rule
of its own, before the one that drops: a rule ends where its set is full."""
