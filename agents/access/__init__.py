"""Access rules in the kernel: what comes out of a LAN's tunnels goes through its Flowspec filters.

`specification.py` reads what is on the wire and has the order of RFC 8955; `rules.py` is the pure step from there to
nft text; `access.py` keeps the document, has the text ready for the reconciler, and reports what was counted. What they
do to fragments, IPv6, ARP and neighbour discovery is in ../../docs/network/access-rules.md.
"""

from agents.access.access import Access

__all__ = ["Access"]
