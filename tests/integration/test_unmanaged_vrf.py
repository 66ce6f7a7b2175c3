"""FRR with a VRF and MPLS, which got what `weft cloudlet config` prints: it routes to the LANs of its IP VPN. This
machine's kernel may lack both: then the test runs in a guest under Debian's."""
# ruff: noqa: F401, F811 - fixtures are imported

import subprocess
from pathlib import Path

import pytest

from lab.patience import until
from tests.integration.debian_kernel import pass_there
from tests.integration.route_servers import World
from tests.integration.test_unmanaged_pe import (
    BESIDE,
    R1,
    R2,
    add,
    both,
    config,
    frr,
    gobgpd,
    ip,
    network,
    region,
    routes,
)

pytestmark = pytest.mark.lab

GUEST = 600.0  # seconds for the test in the guest, whose processor is software


def able() -> bool:
    """Return whether this kernel has VRFs and MPLS."""
    tried = subprocess.run(
        ["ip", "link", "add", "weft-try", "type", "vrf", "table", "9999"], capture_output=True, check=False
    )
    subprocess.run(["ip", "link", "del", "weft-try"], capture_output=True, check=False)
    return tried.returncode == 0 and Path("/proc/sys/net/mpls").is_dir()


@pytest.mark.skipif(not able(), reason="this kernel has no VRF or no MPLS; the test runs under Debian's")
def test_frr_routes_to_the_lans_of_its_vpn(region: World, tmp_path: Path) -> None:
    region.weft("vcp", "add", "vpnv4s", "--flavour", "vpnv4")
    add(region, "r1", "vpnv4", R1, asn=64900)
    add(region, "r2", "vpnv4", R2)
    ip("netns", "exec", BESIDE, "sysctl", "-qw", "net.mpls.platform_labels=1000", "net.mpls.conf.far.input=1")
    for words in (
        "link add weft1 type vrf table 10001",
        "link set weft1 up",
        "link add lan type dummy",
        "link set lan master weft1 up",
        "addr add 10.3.0.1/24 dev lan",
    ):
        ip("-n", BESIDE, *words.split())
    with (
        frr(config(region, "r1", "frr"), tmp_path / "frr.log") as vtysh,
        gobgpd(config(region, "r2", "gobgp"), tmp_path) as gobgp,
    ):
        until(lambda: routes(region) == both("r1", "r2"), lambda: (routes(region), vtysh("show bgp summary")), 120)
        until(lambda: "10.4.0.0/24" in vtysh("show ip route vrf weft1"), lambda: vtysh("show bgp ipv4 vpn"), 60)
        assert "label" in vtysh("show ip route vrf weft1"), "as the other PE said"
        until(lambda: "10.3.0.0/24" in gobgp("global rib -a vpnv4"), lambda: gobgp("global rib -a vpnv4"), 60)


def test_it_passes_under_debians_kernel() -> None:
    if able():
        pytest.skip("this kernel has VRFs and MPLS by itself")
    pass_there(__file__, GUEST)
