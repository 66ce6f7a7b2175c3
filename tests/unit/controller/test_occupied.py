"""VTEPs and LANs found by overlap, compared with a search through all of them; site numbers."""

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.occupied import Lans, Vteps
from controller.core.persistent_map import PersistentMap
from controller.core.refusals import Refused
from controller.core.sites import MAX_SITE, MAX_SITE_OF_LONG_ASN, Sites
from controller.wire.flavours import Flavour

addresses = st.builds(
    lambda high, low: IPv4Address(high << 16 | low), st.integers(0x0A00, 0x0A03), st.integers(0, 65535)
)
prefixes = st.builds(
    lambda address, length: IPv4Network((address, length), strict=False), addresses, st.integers(8, 29)
)


@given(st.sets(addresses, max_size=12), st.sets(addresses, max_size=12), st.lists(prefixes, max_size=5))
def test_vteps(first: set[IPv4Address], later: set[IPv4Address], lans: list[IPv4Network]) -> None:
    """`later` replaces the addresses that are only in `first`."""
    vteps = Vteps().but({}, {str(a): f"c{int(a)}" for a in first})
    vteps = vteps.but({str(a): f"c{int(a)}" for a in first - later}, {str(a): f"c{int(a)}" for a in later - first})
    for address in first | later:
        assert vteps.owner(str(address)) == (f"c{int(address)}" if address in later else None)
    for lan in lans:
        expected = min((a for a in later if a in lan), default=None)
        assert vteps.inside(lan) == (None if expected is None else str(expected))


@given(st.lists(prefixes, max_size=12), st.sets(st.integers(0, 11)), st.lists(addresses, max_size=5))
def test_lans(prefixes: list[IPv4Network], gone: set[int], addresses: list[IPv4Address]) -> None:
    names = {f"e{n}": str(lan) for n, lan in enumerate(prefixes)}
    lost = {name: lan for name, lan in names.items() if int(name[1:]) in gone}
    lans = Lans().but({}, names).but(lost, {})
    for address in addresses:
        expected = {n for n, lan in names.items() if n not in lost and address in IPv4Network(lan)}
        assert set(lans.around(address)) == expected


def test_ve_ids_are_for_vpls() -> None:
    sites = Sites()
    assert (sites.next(Flavour.VPLS, 65000), sites.next(Flavour.EVPN, 65000)) == (1, 4096)
    sites = sites.but((), {7: "a", 5000: "b"})
    assert (sites.next(Flavour.VPLS, 65000), sites.next(Flavour.EVPN, 65000)) == (8, 5001)
    sites = sites.but((7, 5000), {})
    assert (sites.next(Flavour.VPLS, 65000), sites.next(Flavour.EVPN, 65000)) == (1, 4096)


def test_at_the_end_the_smallest_free_number() -> None:
    sites = Sites().but((), {number: f"e{number}" for number in range(1, 4096) if number != 17})
    assert sites.next(Flavour.VPLS, 65000) == 17
    sites = sites.but((), {17: "e17"})
    with pytest.raises(Refused, match="all 4095 VE IDs of the region are taken"):
        sites.next(Flavour.VPLS, 65000)
    assert sites.next(Flavour.EVPN, 65000) == 4096


def test_a_long_as_number_leaves_less_room() -> None:
    short = Sites().but((), {MAX_SITE_OF_LONG_ASN: "e"})
    assert short.next(Flavour.EVPN, 65000) == MAX_SITE_OF_LONG_ASN + 1
    assert short.next(Flavour.EVPN, 4_200_000_000) == 4096
    assert Sites().but((), {MAX_SITE: "e"}).next(Flavour.EVPN, 65000) == 4096
    full = Sites(PersistentMap(dict.fromkeys(range(4096, 2**16), "e")), (0, MAX_SITE_OF_LONG_ASN))
    with pytest.raises(Refused, match="all 61440 site numbers of the region are taken"):
        full.next(Flavour.EVPN, 4_200_000_000)
