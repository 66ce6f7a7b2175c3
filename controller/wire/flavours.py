"""The two kinds of PE an endpoint can sit on, and the BGP family each speaks."""

from enum import StrEnum


class Flavour(StrEnum):
    """How an endpoint is attached: VPLS pseudowires (RFC 4761) or EVPN (RFC 7432/8365)."""

    VPLS = "vpls"
    EVPN = "evpn"

    @property
    def family(self) -> str:
        """The address family as network engineers write it."""
        return "l2vpn-vpls" if self is Flavour.VPLS else "l2vpn-evpn"
