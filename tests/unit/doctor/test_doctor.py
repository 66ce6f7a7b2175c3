"""The doctor finds nothing in a consistent region, and exactly the changed part in one that is not."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast, get_args

import click
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.main import get_command

from controller.cli.main import app
from controller.core.doctor import REMEDIES, Cloudlet, Difference, DifferenceKind, Route, RouteServer, compare
from controller.wire import reports, rulesets
from controller.wire.findings import Finding, FindingKind, IpFamily, Passage, Verdict
from controller.wire.tunnels import Ipsec, IpsecTunnel
from tests.unit.doctor.regions import Region, regions


def check(region: Region, **changed: Any) -> list[Difference]:
    servers = [changed.get(name) or region.route_server(name) for name in ("rs1", "rs2")]
    cloudlets = [changed.get(f"c{n}") or region.cloudlet(n) for n in region.numbers]
    return compare(changed.get("intent") or region.intent(), servers, cloudlets)


def with_state(cloudlet: Cloudlet, **changes: Any) -> Cloudlet:
    assert cloudlet.report is not None
    state = cloudlet.report.endpoints[0].model_copy(update=changes)
    return replace(cloudlet, report=cloudlet.report.model_copy(update={"endpoints": [state]}))


def state_of(cloudlet: Cloudlet) -> reports.EndpointState:
    assert cloudlet.report is not None
    return cloudlet.report.endpoints[0]


@given(regions())
def test_a_region_that_agrees_has_no_difference(region: Region) -> None:
    assert check(region) == []


@given(regions(), st.data())
def test_every_route_that_is_not_sent_is_found(region: Region, data: st.DataObject) -> None:
    server = region.route_server("rs2")
    assume(server.adj_out)
    lost = data.draw(st.sampled_from(list(server.adj_out)))
    [difference] = check(region, rs2=replace(server, adj_out=[r for r in server.adj_out if r != lost]))
    assert (difference.where, difference.found) == ("Adj-RIB-Out of rs2", "not sent")
    assert lost.nlri in difference.subject and difference.subject.endswith(f"to {lost.to}")


@given(regions(), st.data())
def test_every_route_that_does_not_fit_is_found(region: Region, data: st.DataObject) -> None:
    server = region.route_server("rs2")
    assume(server.adj_out)
    i = data.draw(st.integers(0, len(server.adj_out) - 1))
    routes = list(server.adj_out)
    routes[i] = replace(routes[i], withheld="message-size")
    [difference] = check(region, rs2=replace(server, adj_out=routes))
    assert (difference.where, difference.found) == ("Adj-RIB-Out of rs2", "withheld: message-size")
    assert routes[i].nlri in difference.text and "RFC 8654" in difference.text


@given(regions(), st.data())
def test_every_route_that_leaks_is_found(region: Region, data: st.DataObject) -> None:
    a, b = data.draw(st.sampled_from([(a, b) for a in region.numbers for b in region.numbers if a != b]))
    assume(not region.together(a, b))
    server = region.route_server("rs1")
    [difference] = check(region, rs1=replace(server, adj_out=[*server.adj_out, region.route(a, 0, b)]))
    assert difference.expected == "not sent"
    assert "isolation" in difference.text


@given(regions(), st.data())
def test_a_wrong_or_additional_route_target_is_found(region: Region, data: st.DataObject) -> None:
    server = region.route_server("rs1")
    assume(server.adj_out)
    i = data.draw(st.integers(0, len(server.adj_out) - 1))
    rts = data.draw(st.sampled_from([frozenset({"65000:99"}), server.adj_out[i].rts | {"65000:99"}, frozenset()]))
    routes = list(server.adj_out)
    routes[i] = replace(routes[i], rts=rts)
    [difference] = check(region, rs1=replace(server, adj_out=routes))
    assert difference.where == "Adj-RIB-Out of rs1"


def test_other_route_targets_of_a_route_are_left_as_they_are() -> None:
    region = Region(2, [{1, 2}])
    server = region.route_server("rs1")
    announced = [replace(r, rts=r.rts | {"1:1"}) if r.peer == "c1" else r for r in server.adj_in]
    sent = [replace(r, rts=r.rts | {"1:1"}) if r.peer == "c1" else r for r in server.adj_out]
    assert check(region, rs1=replace(server, adj_in=announced, adj_out=sent)) == []
    assert len(check(region, rs1=replace(server, adj_in=announced))) == 1


def test_a_pe_with_two_members_is_sent_one_route_with_the_targets_of_both() -> None:
    region = Region(3, [{1, 2}])
    second = rulesets.Endpoint(name="c2-guest", peer="c2", family="l2vpn-vpls", rt="65000:22", rd="65000:22")
    vcp = rulesets.Vcp(name="pool0", members=["c1-lan", "c2-lan", "c2-guest"])
    intent = region.intent()
    intent = intent.model_copy(update={"endpoints": [*intent.endpoints, second], "vcps": [vcp]})
    base = region.route_server("rs1")
    to_c2 = replace(region.route(1, 0, 2), rts=frozenset({"65000:2", "65000:22"}))
    guest = Route("l2vpn-vpls", "g", "g", "c2-guest", "c2", frozenset({"65000:22"}))
    sent = [replace(guest, rts=frozenset({f"65000:{n}"}), to=f"c{n}") for n in (1, 2)]
    own = replace(region.route(2, 0), rts=frozenset({"65000:22"}), to="c2")
    server = replace(
        base, rule_set=intent, adj_in=[*base.adj_in, guest], adj_out=[to_c2, region.route(2, 0, 1), own, *sent]
    )
    assert compare(intent, [server], []) == []
    lacking = [replace(r, rts=frozenset({"65000:2"})) if r == to_c2 else r for r in server.adj_out]
    [difference] = compare(intent, [replace(server, adj_out=lacking)], [])
    assert difference.expected == "65000:2, 65000:22" and difference.found == "65000:2"


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


def test_desired_state_that_does_not_follow_from_the_pools_is_found() -> None:
    region, wider = Region(4, [{1, 2}]), Region(4, [{1, 2, 4}])
    differences = check(region, c1=wider.cloudlet(1))
    assert [(d.where, d.expected, d.found) for d in differences] == [
        ("desired state of c1", "c2-lan", "c2-lan, c4-lan")
    ]


@pytest.mark.parametrize(
    ("change", "subject", "found"),
    [
        ({"generation": 6}, "generation", "6"),
        ({"peers": []}, "peer c1", "unknown"),
        ({"vcps": [rulesets.Vcp(name="pool0", members=["c1-lan"])]}, "VCP pool0", "members: c1-lan"),
        ({"vcps": []}, "VCP pool0", "unknown"),
    ],
)
def test_a_rule_set_that_differs(change: dict[str, Any], subject: str, found: str) -> None:
    region = Region(2, [{1, 2}])
    server = region.route_server("rs1")
    differences = check(region, rs1=replace(server, rule_set=region.intent().model_copy(update=change)))
    assert (differences[0].where, differences[0].subject, differences[0].found) == ("route server rs1", subject, found)


def test_a_rule_set_that_has_too_much() -> None:
    region = Region(2, [{1, 2}])
    extra = rulesets.Vcp(name="stray", members=[])
    rules = region.intent().model_copy(update={"vcps": [*region.vcps, extra]})
    [difference] = check(region, rs2=replace(region.route_server("rs2"), rule_set=rules))
    assert (difference.subject, difference.expected) == ("VCP stray", "none")


def test_a_route_server_that_is_away_is_one_difference() -> None:
    [difference] = check(Region(3, [{1, 2}]), rs1=RouteServer("rs1", None, error="connection refused"))
    assert difference.found == "connection refused" and "rs1" in difference.text


def test_a_session_that_is_down_is_said_once_and_its_routes_are_not_expected() -> None:
    region = Region(2, [{1, 2}])
    server = region.route_server("rs1")
    down = replace(
        server,
        sessions={"c1": "active", "c2": "established"},
        adj_in=[r for r in server.adj_in if r.peer != "c1"],
        adj_out=[],
    )
    assert [d.where for d in check(region, rs1=down)] == ["BGP at rs1"]


def test_a_session_is_expected_from_the_first_endpoint_on() -> None:
    region = Region(4, [{1, 2}])
    down = [reports.SpeakerState(name=name, state="idle") for name in ("rs1", "rs2")]

    def without(n: int, *, endpoint: bool) -> Cloudlet:
        """Return a cloudlet whose sessions are down, with its endpoint or with none."""
        whole = region.cloudlet(n)
        assert whole.report is not None
        kept = slice(None) if endpoint else slice(0)
        desired = whole.desired.model_copy(update={"endpoints": whole.desired.endpoints[kept]})
        changes = {"speakers": down, "endpoints": whole.report.endpoints[kept]}
        return replace(whole, desired=desired, report=whole.report.model_copy(update=changes))

    def server(name: str, intent: rulesets.RuleSet) -> RouteServer:
        whole = region.route_server(name)
        sessions = whole.sessions | {"c3": "active"}
        return replace(whole, rule_set=intent, sessions=sessions, adj_in=[r for r in whole.adj_in if r.peer != "c3"])

    whole = region.intent()
    bare = whole.model_copy(update={"endpoints": [e for e in whole.endpoints if e.peer != "c3"]})
    there = {"c3": without(3, endpoint=True), "rs1": server("rs1", whole), "rs2": server("rs2", whole)}
    found = check(region, **there)
    assert [(d.kind, d.where) for d in found] == [
        (DifferenceKind.SESSION_DOWN, where) for where in ("BGP at rs1", "BGP at rs2", "BGP at c3", "BGP at c3")
    ]
    there = {"c3": without(3, endpoint=False), "rs1": server("rs1", bare), "rs2": server("rs2", bare)}
    assert check(region, intent=bare, **there) == []


def test_silence_of_an_endpoint_and_quarantine_are_named() -> None:
    region = Region(2, [])
    server = region.route_server("rs1")
    odd = Route("l2vpn-vpls", "k", "65000:2 block 0", "", "c1", frozenset({"65000:2"}), reason="c2-lan is not of c1")
    changed = replace(server, adj_in=[r for r in server.adj_in if r.peer == "c2"], quarantine=[odd])
    silent, quarantined = check(region, rs1=changed)
    assert silent.where == "Adj-RIB-In of rs1" and "c1-lan" in silent.text
    assert quarantined.where == "quarantine of rs1" and "c2-lan is not of c1" in quarantined.text
    assert "65000:2" in quarantined.text


def test_a_route_of_the_looking_glass_is_read() -> None:
    line = {"family": "l2vpn-vpls", "key": "00", "nlri": "x", "endpoint": "e", "peer": "c1", "to": "c2", "rts": ["1:1"]}
    assert Route.of(line) == Route("l2vpn-vpls", "00", "x", "e", "c1", frozenset({"1:1"}), "c2")
    bare = {"family": "l2vpn-vpls", "nlri": "x", "endpoint": None, "peer": "c1"}
    assert Route.of(bare) == Route("l2vpn-vpls", "x", "x", "", "c1", frozenset())


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


@pytest.mark.parametrize("kind", get_args(FindingKind))
def test_every_finding_of_an_agent_is_a_difference_with_a_remedy(kind: FindingKind) -> None:
    region = Region(2, [{1, 2}])
    finding = Finding(kind=kind, subject="it", expected="one", found="two", text="it is two")
    cloudlet = region.cloudlet(1)
    assert cloudlet.report is not None
    report = cloudlet.report.model_copy(update={"findings": [finding]})
    [difference] = check(region, c1=replace(cloudlet, report=report))
    assert (difference.kind, difference.text) == (kind, "it is two") and difference.remedy


COMMANDS = re.compile(r"`weft ([a-z-]+) ([a-z]+)[^`]*`")
DOCUMENTED = Path("docs/reference/doctor.md")


@pytest.mark.parametrize("kind", DifferenceKind)
def test_every_kind_has_a_remedy_that_can_be_followed_and_is_documented(kind: DifferenceKind) -> None:
    remedy = REMEDIES[kind]
    nouns = cast(click.Group, get_command(app)).commands
    for noun, verb in COMMANDS.findall(remedy):
        assert verb in cast(click.Group, nouns[noun]).commands, f"weft {noun} {verb}"
    line = next(line for line in DOCUMENTED.read_text().splitlines() if line.startswith(f"| `{kind}` |"))
    assert line.endswith(f"| {remedy} |")


@given(regions(), st.data())
def test_a_route_that_is_held_back_has_a_name(region: Region, data: st.DataObject) -> None:
    server = region.route_server("rs1")
    assume(server.adj_out)
    i = data.draw(st.integers(0, len(server.adj_out) - 1))
    routes = list(server.adj_out)
    routes[i] = replace(routes[i], held="poison until 2026-01-01T01:00:00Z: NOTIFICATION received: 3/10 UPDATE error")
    [difference] = check(region, rs1=replace(server, adj_out=routes))
    assert (difference.expected, difference.found) == ("sent", "held back")
    assert "weft route release" in difference.remedy and "3/10" in difference.text


@given(regions(), st.data())
def test_a_pe_whose_routes_are_held_back_has_a_name(region: Region, data: st.DataObject) -> None:
    server = region.route_server("rs1")
    assume(server.adj_out)
    one = data.draw(st.sampled_from(list(server.adj_out)))
    left = [route for route in server.adj_out if (route.to, route.peer) != (one.to, one.peer)]
    [difference] = check(region, rs1=replace(server, adj_out=left, barred=frozenset({(one.to, one.peer)})))
    assert difference.subject == f"routes of {one.peer} to {one.to}"


def test_a_line_of_the_looking_glass_says_what_is_held_back() -> None:
    line = {"family": "l2vpn-vpls", "nlri": "65000:1:1:1", "peer": "c1"}
    assert Route.of(line).held == ""
    held = {"verdict": "suspected", "why": "the peer closed the connection"}
    assert Route.of(line | {"held": held}).held == "suspected until it was tried: the peer closed the connection"
