"""The help of `weft` itself, with its nouns in groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperGroup

GROUPS: Mapping[str, Sequence[str]] = {
    "To begin": ("context", "login", "logout", "doctor", "verify"),
    "Sites and pools": (
        "cloudlet",
        "certificate",
        "endpoint",
        "vcp",
        "consent",
        "access",
        "policy",
        "inventory",
        "change",
    ),
    "Devices and addresses": ("device", "lease", "delegation", "address", "reservation", "sighting"),
    "VMs and containers": ("vm", "image", "move", "profile"),
    "Routes and tunnels": ("route", "neighbour", "tunnel"),
    "Operation": ("replica", "event", "token", "audit", "gather"),
}


class GroupedHelp(TyperGroup):
    """A program whose help lists its nouns in GROUPS."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group."""
        longest = max(len(name) for name in self.commands)
        room = formatter.width - longest - 6
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(room)) for name in names])
