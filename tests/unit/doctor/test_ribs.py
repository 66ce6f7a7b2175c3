"""The doctor's comparison of Adj-RIB-Outs, sessions and quarantines with the pools."""

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from controller.core.doctor import Cloudlet, DifferenceKind, Route, RouteServer, compare
from controller.wire import reports, rulesets
from tests.unit.doctor.regions import Region, check, regions


def with_one(server: RouteServer, data: st.DataObject, **changes: Any) -> tuple[list[Route], int]:
    """Return the sent routes with changes of a random one, and its index."""
    assume(server.adj_out)
    i = data.draw(st.integers(0, len(server.adj_out) - 1))
    routes = list(server.adj_out)
    routes[i] = replace(routes[i], **changes)
    return routes, i


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
    routes, i = with_one(server, data, withheld="message-size")
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


@given(regions(), st.data())
def test_a_route_that_is_held_back_has_a_name(region: Region, data: st.DataObject) -> None:
    server = region.route_server("rs1")
    routes, _ = with_one(
        server, data, held="poison until 2026-01-01T01:00:00Z: NOTIFICATION received: 3/10 UPDATE error"
    )
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
