"""The two kinds of PE that an endpoint can be attached to, and the BGP family of each."""

from enum import StrEnum


class Flavour(StrEnum):
    """The kind of attachment of an endpoint: VPLS pseudowires (RFC 4761) or EVPN (RFC 7432/8365)."""

    VPLS = "vpls"
    EVPN = "evpn"

    @property
    def family(self) -> str:
        """The address family in the usual notation, such as `l2vpn-evpn`."""
        return "l2vpn-vpls" if self is Flavour.VPLS else "l2vpn-evpn"
