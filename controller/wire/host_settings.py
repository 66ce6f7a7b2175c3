"""The settings that a LAN gives its hosts beside their address (policy `addresses.hosts`)."""

from controller.wire.model import Message


class Route(Message):
    """A route for hosts: to the prefix `to` (CIDR) by the router `via`, None: by the LAN's gateway."""

    to: str
    via: str | None = None

    def __str__(self) -> str:
        return f"{self.to} via {self.via}" if self.via else self.to


class HostSettings(Message):
    """Addresses are of either family and each family's clients get their own. `dns` and `ntp` are servers, in order of
    preference; `domain` is the name that hosts are in, `search` the names that resolvers try. An empty one is not
    sent."""

    dns: tuple[str, ...] = ()
    domain: str | None = None
    search: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()


NO_SETTINGS = HostSettings()
"""Nothing but what follows from the LAN."""
