"""The host around the agent: rules and settings of others that drop what the LANs send.

`chains.py` and `settings.py` are pure, from what nft and /proc/sys say to findings; `host.py` looks now and then.
"""

from agents.host.host import Host

__all__ = ["Host"]
