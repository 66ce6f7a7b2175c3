"""Silence on a container's network while its connections are at no place, or at two: nftables rules in its sandbox."""

from agents.hypervisors.container.sandbox import Sandbox

_TABLE = "weft_quiet"
_DEAF = """table inet weft_quiet {
  chain input { type filter hook input priority -300; policy accept; iif != "lo" meta l4proto tcp drop; }
}
"""
_MUTE = """table inet weft_quiet {
  chain output { type filter hook output priority -300; policy accept; oif != "lo" meta l4proto tcp drop; }
}
"""
_END = f"add table inet {_TABLE}\ndelete table inet {_TABLE}\n"


async def deafen(sandbox: Sandbox) -> None:
    """Drop TCP that comes in: the kernel would reset connections whose sockets are not there yet. Raises
    HypervisorError."""
    await sandbox.run("nft", "-f", "-", stdin=_END + _DEAF)


async def mute(sandbox: Sandbox) -> None:
    """Drop TCP that goes out: the kernel resets connections whose processes are ended, and sends data again, while they
    go on elsewhere. A vNIC that is off its bridge still reaches the host itself. Raises HypervisorError."""
    await sandbox.run("nft", "-f", "-", stdin=_END + _MUTE)


async def end(sandbox: Sandbox) -> None:
    """Let everything pass again. Raises HypervisorError."""
    await sandbox.run("nft", "-f", "-", stdin=_END)
