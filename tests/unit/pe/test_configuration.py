"""Configurations of PEs without an agent, against golden files; tests/integration/test_unmanaged_pe.py has real daemons
load them. `WEFT_WRITE_GOLDEN=1` writes the files anew."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from controller.core.desired import Fabric
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.core.refusals import Refused
from controller.pe.configuration import configuration
from controller.wire.desired import Speaker
from controller.wire.dialects import FLAVOURS, Dialect, tried
from controller.wire.flavours import Flavour

GOLDEN = Path(__file__).parent / "golden"
SERVERS = {"rs2": "192.0.2.12", "rs1": "192.0.2.11"}
FABRIC = Fabric(65000, tuple(Speaker(name=name, address=address, asn=65000) for name, address in SERVERS.items()))
ASNS = {"internal": None, "external": 64900}


def intent(flavour: Flavour, **changes: object) -> Intent:
    cloudlet = Cloudlet("r1", flavour, "198.51.100.3", CloudletState.ACTIVE, unmanaged=True)
    lans = [
        Endpoint(f"r1-{name}", "r1", 4096 + number, number, f"10.{number}.0.0/24", f"10.{number}.0.1")
        for number, name in enumerate(("lan", "guests"), 1)
    ]
    if flavour is Flavour.EVPN:
        lans = [replace(lan, vni=10000 + lan.index) for lan in lans]
    if flavour is Flavour.VPLS:
        lans = [replace(lan, site=lan.index) for lan in lans]
    if flavour is Flavour.VPNV6:
        lans = [replace(lan, prefix6=f"2001:db8:{lan.index}::/64") for lan in lans]
    changed = replace(cloudlet, **changes)  # type: ignore[arg-type]
    return Intent(1, {"r1": changed}, {lan.name: lan for lan in lans})


CASES = [(dialect, flavour, kind) for dialect in Dialect for flavour in FLAVOURS[dialect] for kind in ASNS]


@pytest.mark.parametrize(("dialect", "flavour", "kind"), CASES)
def test_it_is_the_golden_one(dialect: Dialect, flavour: Flavour, kind: str) -> None:
    text = configuration(intent(flavour, asn=ASNS[kind]), "r1", FABRIC, dialect)
    path = GOLDEN / f"{dialect}-{flavour}-{kind}.conf"
    if os.environ.get("WEFT_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize(("dialect", "flavour"), [(d, f) for d in Dialect for f in FLAVOURS[d]])
def test_it_says_what_all_of_them_need(dialect: Dialect, flavour: Flavour) -> None:
    """Both route servers, the AS numbers, each LAN's route target, the distance; if so, that nobody has tried it."""
    known = intent(flavour, asn=64900, ttl_security=2)
    twin = known.with_cloudlet(Cloudlet("r2", flavour, "198.51.100.4", unmanaged=True, asn=64900))
    text = configuration(twin, "r1", FABRIC, dialect)
    prefix = "2001:db8:1::/64" if flavour is Flavour.VPNV6 else "10.1.0.0/24"
    for word in (*SERVERS.values(), "64900", "65000", "198.51.100.3", prefix):
        assert word in text, word
    for lan in known.endpoints.values():
        assert f"65000:{lan.site}" in text
    assert text.startswith(f"{dialect.comment} ") and ("has not tried it" in text) is not tried(dialect, flavour)
    alone, far = configuration(known, "r1", FABRIC, dialect), intent(flavour, asn=64900)
    assert (text != alone) is (dialect is not Dialect.EXABGP), "which takes routes of its own AS"
    assert alone != configuration(far, "r1", FABRIC, dialect)


@pytest.mark.parametrize(("dialect", "flavour"), [(d, f) for d in Dialect for f in FLAVOURS[d]])
def test_a_key_is_the_operators_to_write(dialect: Dialect, flavour: Flavour) -> None:
    text = configuration(intent(flavour), "r1", FABRIC, dialect, {"rs2": "key in force"})
    assert "<key of rs2>" in text and "<key of rs1>" not in text and "<angle brackets> are yours" in text


def test_every_golden_file_has_a_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {"-".join(case) for case in CASES}


def test_who_has_no_such_configuration() -> None:
    managed = Intent(1, {"c1": Cloudlet("c1", Flavour.EVPN, "198.51.100.1", CloudletState.ACTIVE)})
    for known, name, dialect, reason in (
        (managed, "c1", Dialect.FRR, "c1 has an agent, which configures its PE"),
        (managed, "c2", Dialect.FRR, "c2"),
        (intent(Flavour.VPLS), "r1", Dialect.FRR, "frr is not written for vpls here; exabgp, junos, iosxr, sros are"),
        (intent(Flavour.EVPN), "r1", Dialect.EXABGP, "exabgp is not written for evpn here; frr, gobgp, junos"),
    ):
        with pytest.raises(Refused, match=reason):
            configuration(known, name, FABRIC, dialect)
