"""The dialects in which a PE's configuration can be written."""

from collections.abc import Mapping
from enum import StrEnum

from controller.wire.flavours import Flavour


class Dialect(StrEnum):
    """BGP daemons and routers' operating systems."""

    FRR = "frr"
    GOBGP = "gobgp"
    BIRD = "bird"
    EXABGP = "exabgp"
    JUNOS = "junos"
    IOSXR = "iosxr"
    NXOS = "nxos"
    EOS = "eos"
    SROS = "sros"

    @property
    def comment(self) -> str:
        """The beginning of a line that is a comment."""
        return "!" if self in (Dialect.FRR, Dialect.IOSXR, Dialect.NXOS, Dialect.EOS) else "#"


_VPNS = (Flavour.VPNV4, Flavour.VPNV6)

FLAVOURS: Mapping[Dialect, tuple[Flavour, ...]] = {
    Dialect.FRR: (Flavour.EVPN, *_VPNS),
    Dialect.GOBGP: (Flavour.EVPN, *_VPNS),
    Dialect.BIRD: (Flavour.VPNV4,),  # it takes no next hop of VPNv6 that is an IPv4 address
    Dialect.EXABGP: (Flavour.VPLS, *_VPNS),
    Dialect.JUNOS: tuple(Flavour),
    Dialect.IOSXR: (Flavour.VPLS, *_VPNS),
    Dialect.NXOS: (Flavour.EVPN, *_VPNS),
    Dialect.EOS: (Flavour.EVPN, *_VPNS),
    Dialect.SROS: tuple(Flavour),
}
"""The flavours that each dialect has words for: EVPN with VXLAN, VPLS and IP VPNs with MPLS."""

TRIED: Mapping[Dialect, tuple[Flavour, ...]] = {
    Dialect.FRR: (Flavour.EVPN,),
    Dialect.GOBGP: (Flavour.EVPN, Flavour.VPNV4),
    Dialect.BIRD: (Flavour.VPNV4,),
    Dialect.EXABGP: (Flavour.VPLS, Flavour.VPNV4),
}
"""The flavours that Weft's tests run against a route server (tests/integration/test_unmanaged_pe.py). All else follows
the documentation of its vendor or project."""


def tried(dialect: Dialect, flavour: Flavour) -> bool:
    """Return whether Weft's tests run that flavour of that dialect."""
    return flavour in TRIED.get(dialect, ())


def speaking(flavour: Flavour) -> list[Dialect]:
    """Return the dialects that have words for a flavour."""
    return [dialect for dialect in Dialect if flavour in FLAVOURS[dialect]]
