"""Hosts that boot Debian with systemd, each in namespaces of its own on this machine: for what only an installed system
shows, such as packages, units and their limits. Start with `host.py`."""

from lab.booted_hosts.host import BootedHost

__all__ = ["BootedHost"]
