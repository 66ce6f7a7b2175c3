"""The settings that a LAN gives its hosts in addition to their address (policy `addresses.hosts`)."""

from controller.wire.model import Message


class Route(Message):
    """A route for hosts: to the prefix `to` (CIDR) over the router `via`; None means the LAN's gateway."""

    to: str
    via: str | None = None

    def __str__(self) -> str:
        return f"{self.to} via {self.via}" if self.via else self.to


class HostSettings(Message):
    """The settings of a LAN's hosts. Addresses are of either family; each family's clients get their own. `dns` and
    `ntp` are servers, in order of preference. `domain` is the hosts' domain name, `search` the resolvers' search list.
    An empty setting is not sent."""

    dns: tuple[str, ...] = ()
    domain: str | None = None
    search: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()


NO_SETTINGS = HostSettings()
"""No settings beyond those that follow from the LAN."""
