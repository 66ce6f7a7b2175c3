"""`weft verify` in a whole region: joined LANs, LANs apart, a broken tunnel, an access rule; nothing is left behind."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Rest
from tests.integration.upgrading import weft, well

pytestmark = pytest.mark.lab

POLICY = ROOT / "lab/topologies/small.policy.yaml"
Pairs = dict[tuple[str, str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/small.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        well("doctor")
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=120) as client:
        yield client


def verify(*names: str) -> tuple[bool, Pairs]:
    """Return whether all is as it should be, and each pair by its LANs, sorted, and family."""
    answer = json.loads(weft("verify", *names, "--output", "json").stdout)
    pairs = {(*sorted((p["near"], p["far"])), p["family"]): p for p in answer["pairs"]}
    return answer["ok"], pairs


def state(region: Region, cloudlet: str) -> str:
    """Return a cloudlet's addresses, routes, permanent neighbours, and the FDB entries that were not learned."""
    return "\n".join(
        region.execute(cloudlet, ["sh", "-c", command], check=True).stdout
        for command in (
            "ip -brief address",
            "ip neighbour show nud permanent",
            "ip route show table all | sort",
            "bridge fdb show | grep -e permanent -e dst | sort",
        )
    )


@contextmanager
def broken(region: Region, cloudlet: str, rule: str) -> Iterator[None]:
    """Drop packets at a cloudlet's host, as another program might."""
    table = f"add table inet other; add chain inet other c {{ type filter hook input priority -300; }}; {rule}"
    region.execute(cloudlet, ["nft", table], check=True)
    try:
        yield
    finally:
        region.execute(cloudlet, ["nft", "delete table inet other"], check=True)


def mtu(rest: Rest) -> int:
    return int(rest.get("/endpoints/c1-lan")["mtu"])


def vtep(rest: Rest, cloudlet: str) -> str:
    return str(rest.get(f"/cloudlets/{cloudlet}")["vtep"])


def mended(*names: str) -> Callable[[], bool]:
    return lambda: verify(*names)[0]


@pytest.mark.smoke
def test_joined_lans_pass_and_others_do_not(region: Region, rest: Rest) -> None:
    before = {name: state(region, name) for name in ("c1", "c2", "c3")}
    ok, pairs = verify()
    assert ok, pairs
    for one, other in (("c1-lan", "c2-lan"), ("e1-lan", "e2-lan")):
        for family in ("ipv4", "ipv6"):
            pair = pairs[one, other, family]
            assert (pair["expected"], pair["observed"], pair["mtu"]) == ("passes", "passes", mtu(rest))
            assert pair["rtt_ms"] > 4, "the WAN's delay is in it"
    apart = {key: pair for key, pair in pairs.items() if pair["expected"] == "silent"}
    assert {key[:2] for key in apart} >= {("c1-lan", "c3-lan"), ("c2-lan", "c3-lan"), ("c3-lan", "e1-lan")}
    assert {pair["observed"] for pair in apart.values()} == {"silent"}
    shown = weft("verify", "c1", "c3")
    assert shown.returncode == 0 and "does not pass, as it should" in shown.stdout
    assert {name: state(region, name) for name in before} == before, "nothing is left behind"


def test_a_tunnel_that_carries_nothing_is_named(region: Region, rest: Rest) -> None:
    source = vtep(rest, "c2")
    with broken(region, "c1", f"add rule inet other c ip saddr {source} udp dport 4789 drop"):
        ok, pairs = verify("c1", "c2")
        assert not ok
        assert {pair["observed"] for pair in pairs.values()} == {"silent"}
        assert all("nothing passes" in pair["differs"] for pair in pairs.values())
        said = weft("verify")
        assert said.returncode == 1 and "c1-lan to c2-lan" in said.stdout.replace(
            "c2-lan to c1-lan", "c1-lan to c2-lan"
        )
        assert verify("e1", "e2")[0], "the other pool passes"
    until(mended("c1", "c2"), "the tunnel carries packets again")


def test_a_path_with_a_smaller_mtu_is_measured(region: Region, rest: Rest) -> None:
    source = vtep(rest, "c2")
    with broken(region, "c1", f"add rule inet other c ip saddr {source} udp dport 4789 meta length > 1300 drop"):
        ok, pairs = verify("c1", "c2")
        assert not ok
        for pair in pairs.values():
            assert pair["observed"] == "passes" and 1200 < pair["mtu"] < 1300
            assert f"packets of {mtu(rest)} bytes do not pass" in pair["differs"]
    until(mended("c1", "c2"), "the path takes whole packets again")


def test_an_access_rule_is_verified(region: Region, rest: Rest) -> None:
    rule = "{name: quiet, action: drop, to: [c2-lan], protocols: [icmp]}"
    rest.apply_policy(f"{POLICY.read_text()}access:\n  blue:\n    - {rule}\n", "quiet.yaml")
    try:
        until(lambda: all(one["in_kernel"] for one in rest.items("/filters", endpoint="c2-lan")), "the filters")
        ok, pairs = verify("c1", "c2")
        assert ok, pairs
        assert {(pair["expected"], pair["observed"]) for pair in pairs.values()} == {("resolves", "resolves")}
        assert all("rule 'quiet' of blue" in pair["why"] for pair in pairs.values())
    finally:
        rest.apply_policy(POLICY.read_text(), POLICY.name)
    until(mended("c1", "c2"), "the rule is gone")


def test_a_pair_that_leaves_its_pool_must_not_pass(region: Region, rest: Rest) -> None:
    well("vcp", "leave", "blue", "c2-lan")
    try:
        ok, pairs = verify("c1-lan", "c2-lan")
        assert ok, pairs
        assert {(pair["expected"], pair["observed"]) for pair in pairs.values()} == {("silent", "silent")}
    finally:
        well("vcp", "join", "blue", "c2-lan")
    until(mended("c1", "c2"), "they share the pool again")
