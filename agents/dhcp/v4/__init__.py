"""The LAN's DHCPv4 server (RFC 2131). It owns no addresses: every answer comes from the address plan.

Start with `DhcpServer` (server.py), the sockets and the bounded work; decision.py says what a message asks for and
what the answer is, without I/O; settings.py has what hosts are told beside their address; message.py is the wire
format. Why a codec of our own: pyroute2's is a client's, which drops options it cannot name, stops silently at a bad
one, and turns client ids into text, while a server must tell clients apart by their exact bytes.
"""

from agents.dhcp.v4.server import DhcpError, DhcpServer
from agents.dhcp.v4.settings import LanSettings

__all__ = ["DhcpError", "DhcpServer", "LanSettings"]
