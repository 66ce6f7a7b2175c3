"""The rendered configuration, against golden files that a real bgpd loads in tests/integration/test_agent_evpn.py."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.bgp.frr import render
from controller.wire.desired import Desired, Endpoint, Remote, Speaker
from controller.wire.flavours import Flavour

GOLDEN = Path(__file__).parent / "golden"


def speaker(number: int) -> Speaker:
    return Speaker(name=f"rs{number}", address=f"10.99.0.{250 + number}", asn=65000)


def endpoint(site: int, vni: int | None, flavour: Flavour = Flavour.EVPN) -> Endpoint:
    return Endpoint(
        name=f"e{site}",
        index=site,
        flavour=flavour,
        prefix=f"10.{site}.0.0/24",
        gateway=f"10.{site}.0.1",
        ports=["md*"],
        rt=f"65000:{site}",
        rd=f"65000:{site}",
        ve_id=site if flavour is Flavour.VPLS else None,
        vni=vni,
        vtep="10.99.0.1",
        mtu=1450,
        lease_seconds=3600,
        remotes=[],
    )


def desired(speakers: list[Speaker], endpoints: list[Endpoint]) -> Desired:
    return Desired(
        version=1,
        generation=1,
        cloudlet="ada",
        asn=65000,
        router_id="10.99.0.1",
        vtep="10.99.0.1",
        speakers=speakers,
        endpoints=endpoints,
    )


CASES = {
    "nothing": desired([], []),
    "pair": desired([speaker(1), speaker(2)], [endpoint(1, 10000)]),
    "two-lans": desired([speaker(1), speaker(2)], [endpoint(1, 10000), endpoint(2, 10001)]),
    "vpls-is-not-ours": desired([speaker(1)], [endpoint(7, None, Flavour.VPLS)]),
    "ipv6": desired([Speaker(name="rs1", address="2001:db8::fe", asn=65000)], [endpoint(4095, 2**24 - 1)]).model_copy(
        update={"vtep": "2001:db8::1"}
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    path = GOLDEN / f"{name}.conf"
    text = render(CASES[name])
    if os.environ.get("WEFT_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_file_has_a_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


@given(st.permutations(range(1, 6)), st.permutations(range(1, 4)))
def test_order_does_not_matter(sites: list[int], servers: list[int]) -> None:
    shuffled = desired([speaker(n) for n in servers], [endpoint(n, 10000 + n) for n in sites])
    ordered = desired([speaker(n) for n in sorted(servers)], [endpoint(n, 10000 + n) for n in sorted(sites)])
    assert render(shuffled) == render(ordered)


def test_joining_and_leaving_change_nothing() -> None:
    alone = endpoint(1, 10000)
    remote = Remote(endpoint="e2", cloudlet="bob", prefix="10.2.0.0/24", vtep="10.99.0.2", ve_id=None)
    joined = alone.model_copy(update={"remotes": [remote]})
    assert render(desired([speaker(1)], [alone])) == render(desired([speaker(1)], [joined]))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"rt": "65000:1\n no advertise-all-vni"}, "endpoints[e1].rt"),
        ({"rd": "fnord"}, "endpoints[e1].rd"),
        ({"vni": 0}, "endpoints[e1].vni"),
        ({"vni": None}, "endpoints[e1].vni"),
        ({"vni": 2**24}, "endpoints[e1].vni"),
    ],
)
def test_refuses_what_bgpd_would_misread(change: dict[str, object], complaint: str) -> None:
    bad = endpoint(1, 10000).model_copy(update=change)
    with pytest.raises(ValueError, match=complaint.replace("[", r"\[").replace("]", r"\]")):
        render(desired([], [bad]))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"router_id": "::1"}, "router_id"),
        ({"vtep": "here"}, "vtep"),
        ({"asn": 0}, "asn"),
        ({"speakers": [speaker(1), speaker(1)]}, "10.99.0.251 is there twice"),
        ({"speakers": [Speaker(name="x", address="x\n!", asn=1)]}, r"speakers\[0\].address"),
        ({"endpoints": [endpoint(1, 5), endpoint(2, 5)]}, "vni 5 is there twice"),
    ],
)
def test_names_the_bad_field(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        render(desired([], []).model_copy(update=change))
