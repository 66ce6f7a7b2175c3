"""Access rules in the kernel: frames that come out of a LAN's tunnels pass its Flowspec filters.

`specification.py` decodes the wire format and has the order of RFC 8955. `rules.py` is the pure step from there to nft
text. `access.py` keeps the document, has the text ready for the reconciler, and reports the counters.
../../docs/network/access-rules.md says how the rules treat fragments, IPv6, ARP and neighbour discovery.
"""

from agents.access.access import Access

__all__ = ["Access"]
