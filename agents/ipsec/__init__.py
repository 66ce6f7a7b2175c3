"""Tunnels between cloudlets are encrypted: VXLAN between two VTEPs goes through IPsec, or does not go at all.

Start with `protection.py`, what the agent sees of it, and `tunnel.py`, what a protected tunnel is. `strongswan.py` does
it with strongSwan's charon (`connections.py` says what charon is told, `charon.py` is the door to it, `credentials.py`
reads what it identifies itself with, `daemon.py` says how it is started, `reauthentication.py` which peer has to prove
its name again), `guard.py` holds while it does not, `mtu.py` counts octets.
"""

from agents.ipsec.protection import Protection
from agents.ipsec.tunnel import TunnelIntent, TunnelPeer, Tunnels, TunnelState, intent

__all__ = ["Protection", "TunnelIntent", "TunnelPeer", "TunnelState", "Tunnels", "intent"]
