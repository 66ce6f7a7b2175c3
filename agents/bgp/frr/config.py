"""Turns the desired state into frr.conf text. Pure."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, ip_address

from controller.wire.desired import Desired, Endpoint
from controller.wire.flavours import Flavour
from controller.wire.templates import written

_MAX_ASN = 2**32 - 1
_MAX_VNI = 2**24 - 1
# RFC 4364 section 4.2, RFC 4360 section 3: administrator (AS number or IPv4 address) and assigned number.
_PAIR = re.compile(r"(\d{1,10}|\d{1,3}(\.\d{1,3}){3}):\d{1,10}", re.ASCII)

_PASSWORD = re.compile(r"[0-9A-Za-z]{1,80}", re.ASCII)


def render(desired: Desired, passwords: Mapping[str, str] | None = None, hops: int | None = None) -> str:
    """Return the bgpd configuration of one cloudlet: its route servers and its EVPN endpoints. `passwords`, by address,
    sign the sessions, which go over `hops` at most (GTSM).

    Lists are sorted, so equal desired states give equal text whatever their order. Remotes are not in it. Raises
    ValueError naming the field when bgpd would read a value differently.
    """
    _check(desired)
    if not all(_PASSWORD.fullmatch(password) for password in (passwords or {}).values()):
        raise ValueError("passwords: one is not 1 to 80 letters and digits")
    return written(
        "agents.bgp.frr",
        "frr.conf.j2",
        asn=desired.asn,
        router_id=desired.router_id,
        vtep=desired.vtep,
        passwords=passwords or {},
        hops=hops,
        speakers=sorted(desired.speakers, key=lambda s: _sort_key(s.address)),
        endpoints=sorted(_evpn(desired), key=lambda e: e.vni or 0),
    )


def _evpn(desired: Desired) -> list[Endpoint]:
    return [e for e in desired.endpoints if e.flavour is Flavour.EVPN]


def _check(desired: Desired) -> None:
    _asn("asn", desired.asn)
    _address("router_id", desired.router_id, ipv4=True)
    _address("vtep", desired.vtep)
    for i, speaker in enumerate(desired.speakers):
        _address(f"speakers[{i}].address", speaker.address)
        _asn(f"speakers[{i}].asn", speaker.asn)
    _distinct("speakers: address", [s.address for s in desired.speakers])
    for endpoint in _evpn(desired):
        where = f"endpoints[{endpoint.name}]"
        if endpoint.vni is None or not 1 <= endpoint.vni <= _MAX_VNI:
            raise ValueError(f"{where}.vni: {endpoint.vni} is not in 1..{_MAX_VNI}")
        for field in ("rd", "rt"):
            if not _PAIR.fullmatch(getattr(endpoint, field)):
                raise ValueError(f"{where}.{field}: {getattr(endpoint, field)!r} is not of the form ASN:number")
    _distinct("endpoints: vni", [e.vni for e in _evpn(desired)])


def _asn(where: str, asn: int) -> None:
    if not 1 <= asn <= _MAX_ASN:
        raise ValueError(f"{where}: {asn} is not an AS number")


def _address(where: str, text: str, ipv4: bool = False) -> None:
    try:
        address = ip_address(text)
    except ValueError:
        raise ValueError(f"{where}: {text!r} is not an IP address") from None
    if ipv4 and not isinstance(address, IPv4Address):
        raise ValueError(f"{where}: {text!r} is not an IPv4 address")


def _distinct(where: str, values: list[str] | list[int | None]) -> None:
    twice = sorted({str(v) for v in values if values.count(v) > 1})  # type: ignore[arg-type]
    if twice:
        raise ValueError(f"{where} {', '.join(twice)} is there twice")


def _sort_key(text: str) -> tuple[int, int]:
    address = ip_address(text)
    return address.version, int(address)
