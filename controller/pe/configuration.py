"""The configuration of a PE that has no agent: its BGP sessions with the route servers, and its endpoints. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address

from controller.core.desired import Fabric
from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.refusals import conflict, invalid, missing
from controller.core.rulesets import site_target
from controller.wire.desired import Speaker
from controller.wire.dialects import FLAVOURS, Dialect, speaking, tried
from controller.wire.flavours import Flavour
from controller.wire.templates import written

HOLD = 30
"""Seconds of the sessions' hold time."""

LABELS = 4095
"""VE IDs in a VPLS label block (RFC 4761, section 3.2.2) where the dialect has to name one: as many as a region has."""


@dataclass(frozen=True)
class Lan:
    """An endpoint of the PE. `rt` is its route target and its RD; `vni` is EVPN's number, `ve_id` VPLS's. `routed` is
    the prefix that an IP VPN announces, and `about` what its operator has to know of the LAN."""

    name: str
    rt: str
    about: str
    mtu: int
    routed: str
    vni: int | None
    ve_id: int | None


@dataclass(frozen=True)
class Pe:
    """All that a template knows. `asn` is the PE's AS number, `region` the route servers'; `twin_asn`: another PE has
    the same number of its own, and routes of that one come with it in their AS_PATH. `signed` are the route servers
    whose sessions have keys."""

    name: str
    flavour: Flavour
    address: str
    asn: int
    region: int
    ttl_security: int | None
    twin_asn: bool
    signed: Collection[str]
    servers: tuple[Speaker, ...]
    lans: tuple[Lan, ...]

    @property
    def version(self) -> int:
        """The version of IP of the LANs' prefixes: 6 for VPNv6 alone."""
        return 6 if self.flavour is Flavour.VPNV6 else 4

    @property
    def external(self) -> bool:
        """Whether its sessions are external (eBGP)."""
        return self.asn != self.region


def configuration(intent: Intent, name: str, fabric: Fabric, dialect: Dialect, signed: Collection[str] = ()) -> str:
    """Return the configuration text of a cloudlet's PE, which never has the keys of the sessions that are `signed`, by
    route server. Raises Refused for a PE with an agent, and for a dialect that has no words for its flavour."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    cloudlet = intent.cloudlets[name]
    if not cloudlet.unmanaged:
        raise conflict(f"{name} has an agent, which configures its PE")
    if cloudlet.pe not in FLAVOURS[dialect]:
        others = ", ".join(speaking(cloudlet.pe))
        raise invalid("for", f"{dialect} is not written for {cloudlet.pe} here; {others} are")
    pe = _pe(intent, cloudlet, fabric, signed)
    text = written("controller.pe", f"{dialect}.j2", pe=pe, hold=HOLD, labels=LABELS)
    return _head(cloudlet, dialect, "<" in text) + text


def _head(cloudlet: Cloudlet, dialect: Dialect, yours: bool) -> str:
    lines = [
        f"Of `weft cloudlet config {cloudlet.name} --for {dialect}`. Write it anew after each change of endpoints."
    ]
    if not tried(dialect, cloudlet.pe):
        lines.append("Follows documentation; Weft has not tried it.")
    if yours:
        lines.append("Words in <angle brackets> are yours; `weft cloudlet rekey` shows new keys.")
    return "".join(f"{dialect.comment} {line}\n" for line in lines)


def _pe(intent: Intent, cloudlet: Cloudlet, fabric: Fabric, signed: Collection[str]) -> Pe:
    others = (c for c in intent.cloudlets.values() if c.name != cloudlet.name)
    return Pe(
        name=cloudlet.name,
        flavour=cloudlet.pe,
        address=cloudlet.vtep,
        asn=fabric.asn if cloudlet.asn is None else cloudlet.asn,
        region=fabric.asn,
        ttl_security=cloudlet.ttl_security,
        twin_asn=cloudlet.asn is not None and any(c.asn == cloudlet.asn for c in others),
        signed=signed,
        servers=tuple(sorted(fabric.speakers, key=lambda speaker: ip_address(speaker.address).packed)),
        lans=tuple(
            _lan(lan, cloudlet.pe, fabric.asn)
            for lan in intent.endpoints_of.get(cloudlet.name, ())
            if not intent.held(lan.name) and not (cloudlet.pe is Flavour.VPNV6 and lan.prefix6 is None)
        ),
    )


def _lan(lan: Endpoint, flavour: Flavour, asn: int) -> Lan:
    routed = (lan.prefix6 or "") if flavour is Flavour.VPNV6 else lan.prefix
    return Lan(
        name=lan.name,
        rt=site_target(asn, lan.site),
        about=routed if flavour.routed else f"{lan.prefix}, gateway {lan.gateway}, MTU {lan.mtu}",
        mtu=lan.mtu,
        routed=routed,
        vni=lan.vni,
        ve_id=lan.site if flavour is Flavour.VPLS else None,
    )
