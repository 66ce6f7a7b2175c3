"""The doctor's comparison of kernels, tunnels and what passes with the desired states."""

from dataclasses import replace
from itertools import product
from typing import Any, get_args

from hypothesis import assume, given
from hypothesis import strategies as st

from controller.core.doctor import Cloudlet, DifferenceKind
from controller.wire import reports
from controller.wire.findings import IpFamily, Passage, Verdict
from controller.wire.tunnels import Ipsec, IpsecTunnel
from tests.unit.doctor.regions import Region, check, regions, state_of, with_state


@given(regions(), st.data())
def test_every_missing_tunnel_and_route_is_found(region: Region, data: st.DataObject) -> None:
    n = data.draw(st.sampled_from(region.numbers))
    cloudlet = region.cloudlet(n)
    tunnels, routes = state_of(cloudlet).tunnels, state_of(cloudlet).routes
    assume(tunnels)
    i = data.draw(st.integers(0, len(tunnels) - 1))
    [difference] = check(region, **{f"c{n}": with_state(cloudlet, tunnels=tunnels[:i] + tunnels[i + 1 :])})
    assert difference.where == f"kernel of c{n}" and (tunnels[i].remote or "?") in difference.text
    i = data.draw(st.integers(0, len(routes) - 1))
    [difference] = check(region, **{f"c{n}": with_state(cloudlet, routes=routes[:i] + routes[i + 1 :])})
    assert routes[i] in difference.text


@given(regions(), st.data())
def test_a_tunnel_with_another_label_or_vtep_is_found(region: Region, data: st.DataObject) -> None:
    n = data.draw(st.sampled_from(region.numbers))
    cloudlet = region.cloudlet(n)
    tunnels = state_of(cloudlet).tunnels
    assume(tunnels and tunnels[0].ve_id is not None)
    change: dict[str, Any] = data.draw(st.sampled_from([{"vtep": "203.0.113.9"}, {"rx_vni": 5}, {"tx_vni": 5}]))
    wrong = [tunnels[0].model_copy(update=change), *tunnels[1:]]
    [difference] = check(region, **{f"c{n}": with_state(cloudlet, tunnels=wrong)})
    assert difference.subject == f"tunnel c{n}-lan to {tunnels[0].remote}"


def test_what_is_too_much_in_a_kernel_is_found() -> None:
    region = Region(4, [{1, 2}])
    cloudlet = region.cloudlet(1)
    stray = reports.Tunnel(remote=None, vtep="203.0.113.9", ve_id=9, rx_vni=1, tx_vni=2, device="pw2.9")
    state = state_of(cloudlet)
    changed = with_state(
        cloudlet,
        tunnels=[*state.tunnels, stray],
        routes=[*state.routes, "10.9.0.0/24"],
        ports=["md3", "eth8"],
        problems=["bridge lan2 has no carrier"],
    )
    assert [d.subject for d in check(region, c1=changed)] == [
        "tunnel c1-lan to 203.0.113.9",
        "route 10.9.0.0/24 of c1-lan",
        "port eth7 of c1-lan",
        "port eth8 of c1-lan",
        "c1-lan",
    ]


def test_agents_that_are_away_silent_or_behind() -> None:
    region = Region(4, [{1, 2}])
    one, two, four = region.cloudlet(1), region.cloudlet(2), region.cloudlet(4)
    assert two.report is not None
    behind = two.report.model_copy(
        update={"generation": 6, "speakers": [reports.SpeakerState(name="rs1", state="active")]}
    )
    differences = check(
        region, c1=replace(one, connected=False), c2=replace(two, report=behind), c4=replace(four, report=None)
    )
    assert [(d.where, d.subject, d.found) for d in differences] == [
        ("agent of c1", "c1", "not connected"),
        ("agent of c2", "generation", "6"),
        ("BGP at c2", "session with rs1", "active"),
        ("BGP at c2", "session with rs2", "none"),
        ("agent of c4", "c4", "none"),
    ]


def test_endpoints_a_kernel_lacks_or_has_too_many() -> None:
    region = Region(2, [])
    one = region.cloudlet(1)
    assert one.report is not None
    other = one.report.endpoints[0].model_copy(update={"endpoint": "old-lan"})
    differences = check(region, c1=replace(one, report=one.report.model_copy(update={"endpoints": [other]})))
    assert [(d.subject, d.found) for d in differences] == [("c1-lan", "absent"), ("old-lan", "present")]


def encrypting(cloudlet: Cloudlet, **said: tuple[str, float]) -> Cloudlet:
    """Return the cloudlet with reports on its tunnels, by peer: the state, and the seconds since it began."""
    assert cloudlet.report is not None
    made = [
        IpsecTunnel.model_validate(
            {"cloudlet": n, "local": "a", "remote": "b", "state": s, "age": age, "why": "silent"}
        )
        for n, (s, age) in said.items()
    ]
    return replace(cloudlet, report=cloudlet.report.model_copy(update={"ipsec": Ipsec(tunnels=made)}))


@given(regions(), st.data())
def test_an_encrypted_tunnel_that_is_needed_and_not_there_is_found(region: Region, data: st.DataObject) -> None:
    a = data.draw(st.sampled_from(region.numbers))
    others = [b for b in region.numbers if region.together(a, b)]
    well = {f"c{b}": data.draw(st.sampled_from([("up", 0.0), ("up", 99.0), ("connecting", 1.0)])) for b in others}
    strangers = {f"c{b}": ("down", 99.0) for b in region.numbers if b not in others}
    assert check(region, **{f"c{a}": encrypting(region.cloudlet(a), **well | strangers)}) == []
    assume(others)
    b = data.draw(st.sampled_from(others))
    [difference] = check(region, **{f"c{a}": encrypting(region.cloudlet(a), **well | {f"c{b}": ("down", 9.0)})})
    assert (difference.where, difference.subject, difference.found) == (f"IPsec at c{a}", f"tunnel to c{b}", "down")
    assert "silent" in difference.text and f"c{b} does not say that it encrypts" in difference.text
    del well[f"c{b}"]
    [difference] = check(region, **{f"c{a}": encrypting(region.cloudlet(a), **well)})
    assert difference.found == "none"


def with_passages(cloudlet: Cloudlet, *passages: Passage) -> Cloudlet:
    return with_state(cloudlet, passages=list(passages))


@given(regions(), st.data())
def test_every_pair_that_does_not_pass_as_it_should_is_found(region: Region, data: st.DataObject) -> None:
    """Both kernels agree with the desired state; a probe contradicts them."""
    a, b = data.draw(st.sampled_from([(a, b) for a in region.numbers for b in region.numbers if a != b]))
    allowed = region.together(a, b)
    for verdict, family in product(get_args(Verdict), get_args(IpFamily)):
        passage = Passage(remote=region.name(b), allowed=allowed, verdict=verdict, family=family)
        found = check(region, **{f"c{a}": with_passages(region.cloudlet(a), passage)})
        if allowed is (verdict == "passes"):
            assert found == []
        else:
            [difference] = found
            kind = DifferenceKind.DOES_NOT_PASS if allowed else DifferenceKind.PASSES_THOUGH_FORBIDDEN
            assert difference.kind is kind and difference.subject == f"{region.name(a)} to {region.name(b)}"
            assert family.replace("ip", "IP") in difference.text


def test_of_old_probes_nothing_is_said() -> None:
    """The probes are out of date: they concern a new pool that the agent does not know, a removed endpoint, or an
    absent agent."""
    region = Region(3, [{1, 2}])
    early = Passage(remote="c2-lan", allowed=False, verdict="passes")
    gone = Passage(remote="c9-lan", allowed=True, verdict="silent")
    assert check(region, c1=with_passages(region.cloudlet(1), early, gone)) == []
    silent = Passage(remote="c2-lan", allowed=True, verdict="silent")
    away = replace(with_passages(region.cloudlet(1), silent), connected=False)
    assert [d.kind for d in check(region, c1=away)] == [DifferenceKind.AGENT_AWAY]
