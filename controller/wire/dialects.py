"""The dialects in which a PE's configuration can be written."""

from collections.abc import Mapping
from enum import StrEnum

from controller.wire.flavours import Flavour


class Dialect(StrEnum):
    """BGP daemons and routers' operating systems."""

    FRR = "frr"
    GOBGP = "gobgp"
    EXABGP = "exabgp"
    JUNOS = "junos"
    IOSXR = "iosxr"
    NXOS = "nxos"
    EOS = "eos"
    SROS = "sros"

    @property
    def tested(self) -> bool:
        """Whether Weft's tests run it against a route server. The others follow their vendors' documentation."""
        return self in (Dialect.FRR, Dialect.GOBGP, Dialect.EXABGP)

    @property
    def comment(self) -> str:
        """The beginning of a line that is a comment."""
        return "!" if self in (Dialect.FRR, Dialect.IOSXR, Dialect.NXOS, Dialect.EOS) else "#"


FLAVOURS: Mapping[Dialect, tuple[Flavour, ...]] = {
    Dialect.FRR: (Flavour.EVPN,),
    Dialect.GOBGP: (Flavour.EVPN,),
    Dialect.EXABGP: (Flavour.VPLS,),
    Dialect.JUNOS: (Flavour.EVPN, Flavour.VPLS),
    Dialect.IOSXR: (Flavour.VPLS,),
    Dialect.NXOS: (Flavour.EVPN,),
    Dialect.EOS: (Flavour.EVPN,),
    Dialect.SROS: (Flavour.EVPN, Flavour.VPLS),
}
"""The flavours that each dialect has words for: EVPN with VXLAN, VPLS with MPLS."""


def speaking(flavour: Flavour) -> list[Dialect]:
    """Return the dialects that have words for a flavour."""
    return [dialect for dialect in Dialect if flavour in FLAVOURS[dialect]]
