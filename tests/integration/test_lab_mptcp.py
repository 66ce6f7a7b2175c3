"""A device whose SYNs are lost for a while continues with Multipath TCP, with the settings of the lab's devices."""

import socket
import sys
import threading
from pathlib import Path

import pytest

from lab import netns, underlay
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(netns.known(underlay.MPTCP) != underlay.MPTCP, reason="this kernel never gives MPTCP up"),
]
SERVER, PORT = "198.18.7.2", 5555
LOST = 2.5
"""Seconds for which SYNs are lost: those sent at 0, 1 and 2 s are lost, and later ones are not."""

SERVE = f"""
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
server.bind(("", {PORT}))
server.listen()
kept = []
while True:
    kept.append(server.accept())
"""
CUT = f"table ip weft-cut {{ chain input {{ type filter hook input priority filter; tcp dport {PORT} drop; }}; }}"


def connect(device: Namespace) -> bool:
    """Return whether a new connection uses Multipath TCP, by a socket option (SOL_MPTCP, MPTCP_INFO)."""
    with device.entered(), socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as link:
        link.settimeout(20)
        link.connect((SERVER, PORT))
        try:
            link.getsockopt(284, 1, 64)
        except OSError:
            return False
        return True


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "given up"])
def test_lost_syns(tmp_path: Path, kept: bool) -> None:
    with namespaces("device", "server") as (device, server):
        cable(device, "eth0", server, "eth0")
        device.run("ip addr add 198.18.7.1/24 dev eth0")
        server.run(f"ip addr add {SERVER}/24 dev eth0")
        if kept:
            netns.configure(device.name, sysctl=underlay.MPTCP, ip=[])
        server.spawn(sys.executable, "-c", SERVE, log=tmp_path / "server")
        wait_for("the server listens", lambda: str(PORT) in server.run("ss -Hltn"))
        netns.execute(server.name, ["nft", "-f", "-"], stdin=CUT, check=True)
        healing = threading.Timer(LOST, lambda: server.run("nft delete table ip weft-cut"))
        healing.start()
        assert connect(device) is kept
        healing.join()
        assert connect(device) is kept, "and the next one"
