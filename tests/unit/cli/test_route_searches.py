"""`weft route lookup`, `show` and `counts`."""

from typing import Any

import pytest

from tests.unit.cli.conftest import Controller, Weft

AT = "2020-01-01T00:00:00Z"
ROUTE: dict[str, Any] = {
    "nlri": "[type:macadv][mac:02:00:00:00:00:01]",
    "family": "l2vpn-evpn",
    "key": "0a0b",
    "peer": "c1",
    "endpoint": "c1-lan",
    "rts": ["65000:1"],
    "next_hop": "192.0.2.1",
    "received_at": AT,
    "attributes": {"origin": {"type": 1, "value": 0}, "large_community": {"type": 32, "value": [{"ASN": 65000}]}},
    "details": {"type": 2, "mac": "02:00:00:00:00:01"},
}
MATCH = ROUTE | {"pools": ["blue", "green"], "longest_in": ["blue"], "length": 32, "recipients": 4}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("10.1.0.5", {"address": "10.1.0.5"}),
        ("2001:DB8::1", {"address": "2001:db8::1"}),
        ("10.1.0.0/24", {"prefix": "10.1.0.0/24"}),
        ("02:00:5E:00:00:01", {"mac": "02:00:5e:00:00:01"}),
        ("02-00-5e-00-00-01", {"mac": "02:00:5e:00:00:01"}),
    ],
)
def test_lookup_tells_addresses_from_macs(controller: Controller, weft: Weft, text: str, asked: dict[str, str]) -> None:
    server = {"route_server": "rs1", "routes": [MATCH], "truncated": False, "vpls_routes": 3}
    lan = {"endpoint": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24", "vcps": ["blue"]}
    answer = {"route_servers": [server], "unreachable": ["rs2"], "lans": [lan]}
    controller.answers["GET", "/api/v1/routes/lookup"] = answer
    result = weft("route", "lookup", text)
    assert dict(controller.last.url.params) == asked and result.code == 0
    for part in ("c1-lan", "192.0.2.1", "blue", "10.1.0.0/24", "3 VPLS routes have no addresses"):
        assert part in result.out, part
    assert "green" not in result.out, "there a longer route leads to it"
    assert "route server rs2 did not answer" in result.err
    assert weft("route", "lookup", text, "-o", "json").json == answer


@pytest.mark.parametrize("text", ["x", "10.1.0.1/24", "10.1.0", "02:00:5e:00:00", "fe80::1%eth0/64"])
def test_what_is_no_destination_is_wrong_usage(controller: Controller, weft: Weft, text: str) -> None:
    result = weft("route", "lookup", text)
    assert result.code == 2 and text in result.err and controller.asked == []


def test_no_route(controller: Controller, weft: Weft) -> None:
    server = {"route_server": "rs1", "routes": [], "truncated": True, "vpls_routes": 0}
    controller.answers["GET", "/api/v1/routes/lookup"] = {"route_servers": [server], "unreachable": [], "lans": []}
    result = weft("route", "lookup", "10.1.0.5")
    assert "no route leads to 10.1.0.5" in result.out and "VPLS" not in result.out and "LANs" not in result.out


def paths(**more: Any) -> dict[str, Any]:
    to = [
        {"peer": "c2", "rts": ["65000:2"], "sent_at": AT},
        {"peer": "c3", "rts": ["65000:3"]},
        {"peer": "c4", "rts": ["65000:4"], "withheld": "message-size"},
        {"peer": "c5", "rts": ["65000:5"], "held": {"verdict": "poison", "why": "UPDATE error"}},
    ]
    form = {"external": False, "next_hop": "192.0.2.1", "attributes": {"originator_id": "192.0.2.1"}, "to": to}
    good = ROUTE | {"state": "accepted", "pools": ["blue"], "sent": [form]}
    bad = ROUTE | {"peer": "c9", "state": "quarantined", "reason": "duplicate", "pools": [], "sent": []}
    gone = {"peer": "c8", "family": "l2vpn-evpn", "nlri": ROUTE["nlri"], "at": AT}
    server = {"route_server": "rs1", "paths": [good, bad], "withdrawn": [gone], "truncated": False}
    return {"route_servers": [server | more], "unreachable": []}


def test_a_route_is_shown_in_a_table(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/routes/paths"] = paths()
    result = weft("route", "show", "0a0b")
    assert controller.last.url.params["nlri"] == "0a0b" and result.code == 0
    for part in ("accepted", "quarantined", "duplicate", "c8 has withdrawn"):
        assert part in result.out, part
    assert "originator_id" not in result.out


def test_all_of_a_route_is_shown(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/routes/paths"] = paths(truncated=True)
    out = weft("route", "show", "0a0b", "--all").out
    for part in (
        "rs1: [type:macadv][mac:02:00:00:00:00:01] from c1 of endpoint c1-lan: accepted",
        "from c9 of endpoint c1-lan: quarantined (duplicate)",
        "family: l2vpn-evpn, key 0a0b",
        "pools: blue",
        f"received at: {AT}",
        "origin: 0",
        'large_community: [{"ASN": 65000}]',
        "mac: 02:00:00:00:00:01",
        "sent to PEs of the same AS:",
        "originator_id: 192.0.2.1",
        "c2, route targets 65000:2: sent ",
        "c3, route targets 65000:3: waits",
        "c4, route targets 65000:4: withheld (message-size)",
        "c5, route targets 65000:5: held back: poison (UPDATE error)",
        "rs1: there are more than these",
    ):
        assert part in out, part


def test_a_route_that_there_is_not(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/routes/paths"] = paths(paths=[])
    result = weft("route", "show", "x")
    assert result.code == 1 and "no PE announces x" in result.err and "c8 has withdrawn" in result.out


COUNTS = {
    "route_server": "rs1",
    "peer": "c1",
    "state": "established",
    "routes": {
        "in": {"l2vpn-evpn": 1200, "vpnv4": 3},
        "accepted": {"l2vpn-evpn": 1190},
        "quarantined": {"no-rt": 10, "duplicate": 3},
        "out": {"l2vpn-evpn": 77},
        "withheld": {},
        "held": {"poison": 2},
        "stale": 0,
        "long_lived": 0,
        "bytes": 4096,
    },
    "totals": {
        "routes_announced": {"l2vpn-evpn": 2000},
        "routes_withdrawn": {"l2vpn-evpn": 800},
        "routes_sent": {"l2vpn-evpn": 90},
        "withdrawals_sent": {"l2vpn-evpn": 13},
        "poison_routes": 2,
        "repeated": 0,
    },
}


def test_counts_of_all_and_of_one(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/routes/counts"] = {"items": [COUNTS], "next": None, "unreachable": ["rs2"]}
    result = weft("route", "counts")
    for part in ("established", "1203", "1190", "duplicate 3, no-rt 10", "77", "800"):
        assert part in result.out, part
    assert "route server rs2 did not answer" in result.err
    assert weft("route", "counts", "-o", "json").json == [COUNTS]
    assert weft("route", "counts", "c1", "-o", "csv").out.splitlines()[1].startswith("rs1,c1,established,1203,1190,")
    out = weft("route", "counts", "c1").out
    assert controller.last.url.params["peer"] == "c1"
    for part in ("quarantined no-rt: 10", "in l2vpn-evpn: 1,200", "routes announced l2vpn-evpn: 2,000", "bytes: 4,096"):
        assert part in out, part
    assert "stale" not in out and "repeated" not in out, "zeros are left out"
