"""Encryption of the tunnels between cloudlets: VXLAN between two VTEPs goes through IPsec, or does not go at all.

Start with `protection.py`, the part that the rest of the agent uses, and `tunnel.py`, which defines a protected tunnel.
`strongswan.py` makes the tunnels with strongSwan's charon: `connections.py` has charon's connections, `charon.py` talks
to charon, `credentials.py` reads the files that prove the cloudlet's name, `daemon.py` has charon's start
configuration, and `reauthentication.py` decides which peers have to prove their names again. `guard.py` blocks traffic
without a tunnel, and `mtu.py` counts octets.
"""

from agents.ipsec.protection import Protection
from agents.ipsec.tunnel import TunnelIntent, TunnelPeer, Tunnels, TunnelState, intent

__all__ = ["Protection", "TunnelIntent", "TunnelPeer", "TunnelState", "Tunnels", "intent"]
