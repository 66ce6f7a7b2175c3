"""The identities of machines in DHCP. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DhcpIdentity:
    """A MAC as `02:00:5e:00:00:01`, a client id as lower-case hex, or both; the client id then takes precedence."""

    mac: str | None = None
    client_id: str | None = None

    @property
    def known(self) -> bool:
        """Whether the machine is known at all."""
        return self.mac is not None or self.client_id is not None

    def clashes(self, other: "DhcpIdentity") -> bool:
        """Return whether both machines would be known by the same MAC or client id."""
        pairs = (self.mac, other.mac), (self.client_id, other.client_id)
        return any(one is not None and one == two for one, two in pairs)


@dataclass(frozen=True)
class Identities:
    """The identities of a device and of its VM, if it is known. The client id that a registered VM has by its name is
    left out."""

    md: DhcpIdentity
    vm: DhcpIdentity | None = None
