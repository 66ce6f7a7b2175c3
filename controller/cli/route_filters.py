"""Filters of routes, as options of the commands that show some."""

from enum import StrEnum
from typing import Annotated

import typer

from controller.cli.completion import names


class Table(StrEnum):
    """A table: routes that PEs announced, those in quarantine, those accepted in pools, or those that were sent."""

    ADJ_IN = "adj-in"
    QUARANTINE = "quarantine"
    POOLS = "pools"
    ADJ_OUT = "adj-out"


class Family(StrEnum):
    """Address families in the usual notation."""

    VPLS = "l2vpn-vpls"
    EVPN = "l2vpn-evpn"
    VPNV4 = "vpnv4"
    VPNV6 = "vpnv6"
    FLOW4 = "ipv4-flowspec"
    FLOW6 = "ipv6-flowspec"
    FLOW_VPN4 = "ipv4-flowspec-vpn"
    FLOW_VPN6 = "ipv6-flowspec-vpn"


class Reason(StrEnum):
    """Reasons for a route's quarantine."""

    UNKNOWN_RT = "unknown-rt"
    FOREIGN_RT = "foreign-rt"
    NO_RT = "no-rt"
    AMBIGUOUS = "ambiguous"
    DUPLICATE = "duplicate"
    FAMILY = "family"
    REDIRECT = "redirect"
    LOOP = "loop"
    LIMIT = "limit"
    FOREIGN_RD = "foreign-rd"
    FOREIGN_VE = "foreign-ve"
    LABELS = "labels"
    NEXT_HOP = "next-hop"
    ORIGINATOR = "originator"
    FOREIGN_MAC = "foreign-mac"
    FOREIGN_ADDRESS = "foreign-address"
    FOREIGN_PREFIX = "foreign-prefix"
    SEGMENT = "segment"
    ROUTE_TYPE = "route-type"
    FLOWSPEC = "flowspec"


OfServer = Annotated[str | None, typer.Option("--route-server", help="Only of this route server.")]
OfPeer = Annotated[str | None, typer.Option("--peer", help="Only of this PE.", autocompletion=names("cloudlets"))]
OfVcp = Annotated[str | None, typer.Option("--vcp", help="Only of members of this pool.", autocompletion=names("vcps"))]
Prefix = Annotated[str | None, typer.Option(help="Only within this prefix, as in 10.1.0.0/16.")]
Mac = Annotated[str | None, typer.Option(help="Only of this MAC address.")]
OfFamily = Annotated[Family | None, typer.Option("--family", help="Only of this address family.")]
Rt = Annotated[str | None, typer.Option(help="Only with this route target: 65000:7; four-octet AS: 65000L:7.")]
PeerArgument = Annotated[str, typer.Argument(metavar="PEER", help="The PE.", autocompletion=names("cloudlets"))]
OnePeer = Annotated[str | None, typer.Argument(metavar="PEER", help="The PE.", autocompletion=names("cloudlets"))]
