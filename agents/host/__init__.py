"""Rules and settings of the host that are not the agent's and drop packets of the LANs.

`chains.py` and `settings.py` are pure: they turn the output of nft and of /proc/sys into findings. `host.py` reads both
at intervals.
"""

from agents.host.host import Host

__all__ = ["Host"]
