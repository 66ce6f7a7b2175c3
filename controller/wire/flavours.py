"""The kinds of PE that an endpoint can be attached to, and the BGP family of each."""

from enum import StrEnum


class Flavour(StrEnum):
    """The kind of attachment of an endpoint: VPLS pseudowires (RFC 4761) or EVPN (RFC 7432/8365), whose pools are one
    LAN; or an IP VPN (RFC 4364, 4659), whose members are routed to each other. Agents build LANs alone."""

    VPLS = "vpls"
    EVPN = "evpn"
    VPNV4 = "vpnv4"
    VPNV6 = "vpnv6"

    @property
    def family(self) -> str:
        """The address family in the usual notation, such as `l2vpn-evpn`."""
        return str(self) if self.routed else f"l2vpn-{self}"

    @property
    def routed(self) -> bool:
        """Whether it is an IP VPN."""
        return self in (Flavour.VPNV4, Flavour.VPNV6)
