"""Silence on a container's network while its connections are at no place, or at two: nftables rules in its sandbox."""

from agents.hypervisors.container.sandbox import Sandbox

_TABLE = "weft_quiet"
_DEAF = """table inet {table} {{
  chain input {{ type filter hook input priority -300; policy accept; iif != "lo" meta l4proto tcp drop; }}
}}
"""
_MUTE = f"""table inet {_TABLE} {{
  chain output {{ type filter hook output priority -300; policy accept; oif != "lo" meta l4proto tcp drop; }}
}}
"""


async def deafen(sandbox: Sandbox, table: str | None) -> None:
    """Drop TCP that comes in: the kernel would reset connections whose sockets are not there yet. `table` is the one
    that CRIU deletes when all of them are there, right before they ask their peers what has arrived: an answer that
    was dropped would cost a retransmission timeout, which is a second. Raises HypervisorError."""
    await _set(sandbox, table, _DEAF.format(table=table or _TABLE))


async def mute(sandbox: Sandbox) -> None:
    """Drop TCP that goes out: the kernel resets connections whose processes are ended, and sends data again, while they
    go on elsewhere. A vNIC that is off its bridge still reaches the host itself. Raises HypervisorError."""
    await _set(sandbox, None, _MUTE)


async def end(sandbox: Sandbox, table: str | None = None) -> None:
    """Let everything pass again. Raises HypervisorError."""
    await _set(sandbox, table, "")


async def _set(sandbox: Sandbox, table: str | None, rules: str) -> None:
    gone = "".join(f"add table inet {old}\ndelete table inet {old}\n" for old in (_TABLE, table) if old)
    await sandbox.run("nft", "-f", "-", stdin=gone + rules)
