"""The guard: VXLAN goes through IPsec, or nowhere. So do TCP between cloudlets, and BGP with protected addresses. Pure;
nft text.

For VXLAN the guard holds no names and no addresses. So no change of membership touches it, and an address that is no
peer's gets nothing either. It stays in the kernel when the agent ends, and when charon does. Encrypted packets leave by
charon's device where charon does ESP itself, or by a route with a transformation where the kernel does it. They arrive
the same way, so frames that an outsider makes up do not get in.

Moves use TCP between cloudlets for memory and disks. Without the guard that TCP would continue on the plain route when
charon, and the route into its device, are gone; and also when a cloudlet leaves a pool during a move, which ends the
tunnel. So the guard also blocks it for a while to former peers that had such TCP while they shared a pool.

A cloudlet that is revoked is protected no more, and its sessions end at the same time: their last messages would go in
the clear if the guard were the first to know. So it also blocks BGP for a while to addresses that were protected.
"""

from collections.abc import Iterable

from agents.kernel.snapshot import BGP_PORT, VXLAN_PORT

FAMILY, TABLE = "inet", "weft-ipsec"
DEVICE = "ipsec0"
"""The device by which charon's own ESP takes and returns packets."""

OPEN = f"table {FAMILY} {TABLE}\ndelete table {FAMILY} {TABLE}\n"
"""nft text that removes the guard, if it is there."""


def guard(protected: Iterable[str] = (), peers: Iterable[str] = ()) -> str:
    """Return nft text that puts the guard in, or replaces the present one and keeps its counters. `protected` are the
    IPv4 addresses of the other ends of BGP sessions that go through IPsec, `peers` the VTEPs of cloudlets that have a
    tunnel."""
    return _GUARD + _elements("protected", protected) + _elements("peers", peers)


def _elements(name: str, addresses: Iterable[str]) -> str:
    elements = ", ".join(sorted(set(addresses)))
    return f"add element {FAMILY} {TABLE} {name} {{ {elements} }}\n" if elements else ""


LINGER = 20
"""Minutes for which unencrypted TCP is dropped to a cloudlet that shares no pool any more: longer than a connection
lasts that gets no answer (tcp_retries2 in the kernel's Documentation/networking/ip-sysctl.rst: some 15)."""

LINGER_BGP = 2
"""Minutes for which unencrypted BGP is dropped with an address that is protected no more: longer than the kernel sends
again what a closed connection has left (tcp_orphan_retries there: some 100 s)."""

_CLEAR_OUT = f'oifname != {{ "{DEVICE}", "lo" }} rt ipsec missing'
_CLEAR_IN = f'iifname != {{ "{DEVICE}", "lo" }} meta ipsec missing'

# One rule counts VXLAN packets by address, and the next one drops them, because a rule ends where its set is full. TCP
# is not counted: it is sent again and again while a tunnel is being made.
_GUARD = f"""table {FAMILY} {TABLE} {{
	counter out {{ }}
	counter in {{ }}
	set meant_for {{ type ipv4_addr; size 4096; flags dynamic; counter; }}
	set came_from {{ type ipv4_addr; size 4096; flags dynamic; counter; }}
	set protected {{ type ipv4_addr; }}
	set peers {{ type ipv4_addr; }}
	set lately {{ type ipv4_addr; size 4096; flags dynamic,timeout; timeout {LINGER}m; }}
	set lately_bgp {{ type ipv4_addr; size 4096; flags dynamic,timeout; timeout {LINGER_BGP}m; }}
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
		ip daddr @protected tcp dport {BGP_PORT} update @lately_bgp {{ ip daddr }}
		ip daddr @protected tcp sport {BGP_PORT} update @lately_bgp {{ ip daddr }}
		ip daddr @protected tcp dport {BGP_PORT} {_CLEAR_OUT} drop
		ip daddr @protected tcp sport {BGP_PORT} {_CLEAR_OUT} drop
		ip daddr @lately_bgp tcp dport {BGP_PORT} {_CLEAR_OUT} drop
		ip daddr @lately_bgp tcp sport {BGP_PORT} {_CLEAR_OUT} drop
	}}
	chain input {{
		udp dport {VXLAN_PORT} {_CLEAR_IN} update @came_from {{ ip saddr }}
		udp dport {VXLAN_PORT} {_CLEAR_IN} counter name in drop
		meta l4proto tcp ip saddr @peers {_CLEAR_IN} drop
		meta l4proto tcp ip saddr @lately {_CLEAR_IN} drop
		ip saddr @protected tcp dport {BGP_PORT} {_CLEAR_IN} drop
		ip saddr @protected tcp sport {BGP_PORT} {_CLEAR_IN} drop
		ip saddr @lately_bgp tcp dport {BGP_PORT} {_CLEAR_IN} drop
		ip saddr @lately_bgp tcp sport {BGP_PORT} {_CLEAR_IN} drop
	}}
}}
"""
