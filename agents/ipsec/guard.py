"""The guard: VXLAN goes through IPsec, or nowhere; so does TCP between cloudlets, and BGP with those who are protected.
Pure; nft text.

For VXLAN it knows no names and no addresses, so no change of membership touches it: whoever is no peer gets nothing
either. It stays in the kernel when the agent ends, and when charon does. What is encrypted leaves by charon's device,
where ESP is charon's own, or by a route with a transformation, where it is the kernel's; what was encrypted comes that
way too, so frames that somebody outside makes up do not get in.

TCP between cloudlets is what moves are made of: memory and disks. It would go on by the plain route when charon, and
the route into its device, are gone; and when a pool is left in the middle of a move, and the tunnel goes with it. So it
is kept in for a while with those as well to whom there was some when they still shared a pool.
"""

from collections.abc import Iterable

from agents.kernel.snapshot import BGP_PORT, VXLAN_PORT

FAMILY, TABLE = "inet", "weft-ipsec"
DEVICE = "ipsec0"
"""The device by which charon's own ESP takes and gives packets."""

OPEN = f"table {FAMILY} {TABLE}\ndelete table {FAMILY} {TABLE}\n"
"""Takes the guard out, if it is there."""


def guard(protected: Iterable[str] = (), peers: Iterable[str] = ()) -> str:
    """Puts it in, or in the place of one that is there, whose counters go on. `protected` are the IPv4 addresses of the
    other ends of BGP sessions that go through IPsec, `peers` the VTEPs of cloudlets that there are tunnels to."""
    return _GUARD + _elements("protected", protected) + _elements("peers", peers)


def _elements(name: str, addresses: Iterable[str]) -> str:
    elements = ", ".join(sorted(set(addresses)))
    return f"add element {FAMILY} {TABLE} {name} {{ {elements} }}\n" if elements else ""


LINGER = 20
"""Minutes for which TCP in the clear is dropped to somebody who shares no pool any more: longer than a connection lasts
that nothing comes back on (tcp_retries2 in the kernel's Documentation/networking/ip-sysctl.rst: some 15)."""

_CLEAR_OUT = f'oifname != {{ "{DEVICE}", "lo" }} rt ipsec missing'
_CLEAR_IN = f'iifname != {{ "{DEVICE}", "lo" }} meta ipsec missing'

# Whose packets of VXLAN they were is counted by a rule of its own, before the one that drops: a rule ends where its set
# is full. TCP is not counted: it is tried again and again while a tunnel is being made.
_GUARD = f"""table {FAMILY} {TABLE} {{
	counter out {{ }}
	counter in {{ }}
	set meant_for {{ type ipv4_addr; size 4096; flags dynamic; counter; }}
	set came_from {{ type ipv4_addr; size 4096; flags dynamic; counter; }}
	set protected {{ type ipv4_addr; }}
	set peers {{ type ipv4_addr; }}
	set lately {{ type ipv4_addr; size 4096; flags dynamic,timeout; timeout {LINGER}m; }}
	chain output {{ type filter hook output priority filter; policy accept; }}
	chain input {{ type filter hook input priority filter; policy accept; }}
}}
flush chain {FAMILY} {TABLE} output
flush chain {FAMILY} {TABLE} input
flush set {FAMILY} {TABLE} protected
flush set {FAMILY} {TABLE} peers
table {FAMILY} {TABLE} {{
	chain output {{
		udp dport {VXLAN_PORT} {_CLEAR_OUT} update @meant_for {{ ip daddr }}
		udp dport {VXLAN_PORT} {_CLEAR_OUT} counter name out drop
		meta l4proto tcp ip daddr @peers update @lately {{ ip daddr }}
		meta l4proto tcp ip daddr @peers {_CLEAR_OUT} drop
		meta l4proto tcp ip daddr @lately {_CLEAR_OUT} drop
		ip daddr @protected tcp dport {BGP_PORT} {_CLEAR_OUT} drop
		ip daddr @protected tcp sport {BGP_PORT} {_CLEAR_OUT} drop
	}}
	chain input {{
		udp dport {VXLAN_PORT} {_CLEAR_IN} update @came_from {{ ip saddr }}
		udp dport {VXLAN_PORT} {_CLEAR_IN} counter name in drop
		meta l4proto tcp ip saddr @peers {_CLEAR_IN} drop
		meta l4proto tcp ip saddr @lately {_CLEAR_IN} drop
		ip saddr @protected tcp dport {BGP_PORT} {_CLEAR_IN} drop
		ip saddr @protected tcp sport {BGP_PORT} {_CLEAR_IN} drop
	}}
}}
"""
