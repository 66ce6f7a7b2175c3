"""The errors that a siege finds, and the attackers' messages, which are as their names say."""

import json
import struct
import time
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Any

import pytest

from controller.wire.model import Message
from controller.wire.neighbours import NeighbourReport
from controller.wire.reports import Report
from controller.wire.session_keys import SessionKeysHeld
from controller.wire.sightings import SightingReport
from lab.percentile import percentile
from lab.siege import frames, page, reports
from lab.siege.attack import Attack
from lab.siege.bed import ROUTE_DISTINGUISHER, ROUTE_TARGET, octets
from lab.siege.bodies import SHAPES, twisted
from lab.siege.figures import Calls, Figures, Pings, calls, missing
from lab.siege.gauges import Gauge
from lab.siege.losses import Happened, losses
from lab.siege.verdict import PROBES, wrong

WELL = Figures(
    seconds=60,
    pings={"m1 to m2": Pings(600, 0, 11.0)},
    calls={"an operator": Calls(100, 0, 0.01, 0.1, 0.2, {200: 100})},
    joins=Calls(4, 0, 0.1, 0.2, 0.2, {200: 4}),
    gauges={"rs1": Gauge(20 << 20, 40 << 20, 1.0, restarted=False)},
    load=1.0,
    deeds=10,
    losses=[],
    missing=[],
    failed=[],
    leases=2,
    unleased=[],
    resets=[],
    events={"member-joined": 2},
    database=4096,
)
BESIEGED = replace(WELL, attacks={"strangers": {"malformed": 5}})


def test_nobody_noticed() -> None:
    assert wrong(WELL, BESIEGED) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pings": {"m1 to m2": Pings(600, 1, 11.0)}}, "1 of 600 pings m1 to m2 were lost"),
        ({"pings": {"m1 to m2": Pings(0, 0, 0.0)}}, "0 of 0 pings m1 to m2 were lost"),
        ({"calls": {"an operator": Calls(9, 0, 0.1, 1.0, 2.0, {200: 9})}}, "requests of an operator took 1.00 s"),
        ({"calls": {"an operator": Calls(9, 1, 0.1, 0.2, 0.2, {503: 1})}}, "1 of 9 requests of an operator"),
        ({"calls": {"an operator": Calls(0, 0, 0.0, 0.0, 0.0, {})}}, "0 of 0 requests of an operator"),
        ({"gauges": {"rs1": Gauge(0, 0, 0.0, restarted=True)}}, "rs1 died"),
        ({"gauges": {"rs1": Gauge(7 << 20, 392 << 20, 0.0, restarted=False)}}, "rs1 grew by 385 MiB, more than 384"),
        ({"gauges": {"controller": Gauge(156 << 20, 413 << 20, 0.0, restarted=False)}}, "controller grew by 257 MiB"),
        ({"missing": ["1 of member-left c1-lan"]}, "this event is missing: 1 of member-left c1-lan"),
        ({"unleased": ["02:00:60:00:00:01"]}, "this lease is missing: 02:00:60:00:00:01"),
        ({"resets": ["session with e1 is down"]}, "a session of good will ended: session with e1 is down"),
        ({"failed": ["no lease"]}, "no lease"),
        ({"deeds": 0}, "nobody did anything"),
        ({"gone": ["strangers"]}, "the attack strangers ended too early"),
        ({"attacks": {"strangers": {"defect: OSError()": 1}}}, "strangers has a defect"),
        ({"attacks": {"strangers": {}}}, "strangers attacked nobody"),
    ],
)  # fmt: skip
def test_what_somebody_noticed_is_named(change: Mapping[str, Any], said: str) -> None:
    found = wrong(WELL, replace(BESIEGED, **change))
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(("seconds", "bad"), [(1.99, 0), (2.0, 1)])
def test_a_report_that_the_controller_lets_wait_has_the_wait_in_its_bound(seconds: float, bad: int) -> None:
    probes = {PROBES: Calls(100, 0, 1.0, seconds, seconds, {204: 100})}
    assert len(wrong(WELL, replace(BESIEGED, calls=probes))) == bad


def test_what_is_wrong_before_the_siege_is_told_as_such() -> None:
    assert wrong(replace(WELL, failed=["no lease"]), BESIEGED) == ["before the siege: no lease"]


def test_an_event_for_each_time() -> None:
    deeds = [("member-joined", "c1-lan"), ("member-left", "c1-lan"), ("member-joined", "c1-lan")]
    assert missing(deeds, [*deeds, ("session-up", "x1")]) == []
    assert missing(deeds, deeds[:2]) == ["1 of member-joined c1-lan"]


def test_requests_without_a_good_answer_are_counted() -> None:
    found = calls([(0.0, 0.1, 200), (1.0, 0.3, 429), (2.0, 0.2, 0)])
    assert (found.sent, found.failed, found.most, found.statuses) == (3, 2, 0.3, {200: 1, 429: 1, 0: 1})
    assert [percentile([3.0, 1.0, 2.0], percent) for percent in (1, 50, 99)] == [1.0, 2.0, 3.0]


def test_a_loss_is_told_with_what_happened_about_then() -> None:
    events = [
        Happened(1000.0, "device-seen", "d1"),
        Happened(1007.5, "session-down", "x1"),
        Happened(1030.0, "limit", "x"),
    ]
    found = losses({"n1 to n2": [1008.0], "m1 to m2": [1020.0]}, events, 1000.0)
    assert found == ["8.0 s: n1 to n2, with session-down x1 -0.5 s", "20.0 s: m1 to m2, with no event"]


def test_the_page_has_both_sides_and_what_failed() -> None:
    text = page.text(WELL, BESIEGED, ["rs1 died"], "a machine")
    assert "- rs1 died" in text
    assert "| pings m1 to m2: lost | 0 of 600 | 0 of 600 |" in text
    assert "| strangers | malformed | 5 |" in text


def test_the_page_tells_losses_before_the_siege_apart() -> None:
    text = page.text(replace(WELL, losses=["3.0 s"]), replace(BESIEGED, losses=["8.0 s"]), [], "a machine")
    assert "\n\n- lost before the siege at 3.0 s\n- lost at 8.0 s\n\n| | before" in text


@pytest.mark.parametrize("name", SHAPES)
def test_bodies_are_as_large_as_asked_for(name: str) -> None:
    assert 199_900 <= len(SHAPES[name](200_000)) <= 200_000


def test_messages_are_twisted_in_each_field() -> None:
    message: dict[str, object] = {"a": "p", "b": "q"}
    found = [json.loads(body) for body in islice(twisted(message), 100)]
    assert {"a": "p"} in found
    assert {"b": "q"} in found
    assert message not in found


def test_each_route_of_agents_gets_odd_fields_and_bad_shapes() -> None:
    for posts in (reports.odd("x1", "x1-lan"), reports.misshapen()):
        assert {route for _, route, _ in islice(posts, len(reports.ROUTES))} == set(reports.ROUTES)


def test_large_bodies_are_below_what_an_agent_may_send() -> None:
    for _, _, body in islice(reports.large("x1", "x1-lan"), 4):
        assert len(body) < 4 << 20


def test_large_bodies_have_the_right_form() -> None:
    forms: dict[str, type[Message]] = {
        "reports": Report,
        "sightings": SightingReport,
        "neighbours": NeighbourReport,
        "session-keys": SessionKeysHeld,
    }
    for _, route, body in islice(reports.large("x1", "x1-lan"), 4):
        forms[route].model_validate_json(body)


@pytest.mark.parametrize(("words", "said"), [("echo '{\"a\": 2}'", {"a": 2}), ("echo no >&2; exit 3", None)])
def test_an_attacker_that_says_nothing_has_a_defect(
    monkeypatch: pytest.MonkeyPatch, words: str, said: dict[str, int] | None
) -> None:
    monkeypatch.setattr("lab.netns.command", lambda _, argv: argv)
    with Attack("strangers", "x1", ["sh", "-c", words]) as one:
        while one.runs:
            time.sleep(0.01)
        assert one.counted() == (said or {"defect: strangers ended with 3 and no counts: no\n": 1})


def test_checksums_are_right() -> None:
    mac = bytes.fromhex("020000000001")
    frame = frames.dhcp(mac, frames.DISCOVER, b"ab")
    assert _sum(frame[14:34]) == 0xFFFF
    for packet, protocol in (
        (frames.advertisement(mac, mac, IPv6Address("2001:db8::1"))[14:], 58),
        (frames.dhcp6(mac, frames.SOLICIT, b"abc")[14:], 17),
    ):
        pseudo = packet[8:40] + struct.pack("!II", len(packet) - 40, protocol)
        assert _sum(pseudo + packet[40:]) == 0xFFFF


def test_devices_send_every_kind() -> None:
    gateway = IPv4Address("10.2.0.1")
    kinds = {what for what, _ in islice(frames.clients(gateway - 1, IPv6Address("2001:db8:2::"), gateway), 40)}
    assert {"DISCOVER", "SOLICIT", "DECLINE", "DHCPv6 DECLINE", "malformed DHCP"} <= kinds
    assert "SNAP" in {what for what, _ in islice(frames.rubbish(b"\2" * 6, gateway), 10)}


def test_route_targets_as_octets() -> None:
    assert octets("65000:4098", ROUTE_TARGET) == "0002fde800001002"
    assert octets("65000:4098", ROUTE_DISTINGUISHER) == "0000fde800001002"


def _sum(data: bytes) -> int:
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total
