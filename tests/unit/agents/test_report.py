"""From a snapshot to a report, and to the output of `weft-agent show`."""

import json
from dataclasses import replace

from agents.controller.report import report, same
from agents.kernel import vpls
from agents.kernel.plan import plan
from agents.kernel.show import text
from agents.kernel.snapshot import Flood, Port, Route, Snapshot
from agents.kernel.vpls import Pseudowire
from controller.wire.findings import Finding
from controller.wire.flavours import Flavour
from controller.wire.reports import MOST_UNDERSTOOD, Report
from tests.unit.agents.desires import desired, endpoint, remote, vtep
from tests.unit.agents.kernel_model import after

WANT = desired(endpoint(1, remotes=[remote(endpoint(2)), remote(endpoint(3))]))
KERNEL = after(Snapshot(), plan(WANT, {1: frozenset({Pseudowire(2, 4098, 8193, vtep(2))})}, Snapshot()).operations)

FINDING = Finding(kind="setting", subject="a", expected="0", found="1", text="a is 1, not 0")


def test_vpls() -> None:
    said = report(WANT, KERNEL, {"192.0.2.250": "established"}, {1: ["a problem"]}, "1")
    (state,) = said.endpoints
    (tunnel,) = state.tunnels
    assert tunnel.model_dump() == {
        "remote": "e2", "vtep": vtep(2), "ve_id": 2, "rx_vni": 4098, "tx_vni": 8193, "device": "pw1.2"
    }  # fmt: skip
    assert state.routes == ["10.2.0.0/24"] and state.bridge == "lan1"
    assert state.problems == ["a problem"]
    assert [s.state for s in said.speakers] == ["established"]
    assert said.resident_bytes > 1e6


def test_a_report_says_what_its_release_understands() -> None:
    said = report(WANT, KERNEL, {}, {}, "1").understands
    assert {"desired", "access", "orders", "desired.protected", "desired.endpoints.remotes.prefix6"} <= set(said)
    assert len(said) < MOST_UNDERSTOOD / 2


def test_a_report_is_never_more_than_may_be_sent() -> None:
    problems = ["x" * 100_000, *(f"problem {n}" for n in range(20_000))]
    routes = frozenset(Route(f"10.{n >> 8}.{n & 255}.0/24", "lan1") for n in range(20_000))
    said = report(WANT, replace(KERNEL, routes=routes), {}, {1: problems}, "1", findings=[FINDING] * 20_000)
    (state,) = said.endpoints
    assert Report.model_validate_json(said.model_dump_json()) == said
    assert (len(state.routes), len(state.problems), len(said.findings)) == (10_000, 1000, 1000)
    assert said.findings[-1].kind == "findings-untold"
    assert state.problems[0] == "20000 routes, of which the report has the first 10000"
    assert (len(state.problems[1]), state.problems[1][-2:]) == (2000, "x…")
    assert state.problems[-1] == "and 19003 problems more"


def test_a_machine_is_no_access_port() -> None:
    ports = {name: Port(name, "lan1") for name in ("eth1", "wv00a")}
    assert report(WANT, replace(KERNEL, ports=ports), {}, {}, "1").endpoints[0].ports == ["eth1"]


def test_a_tunnel_counts_only_if_frames_can_take_it() -> None:
    whole = KERNEL.vxlans["pw1.2"]
    for broken in (replace(whole, up=False), replace(whole, bridge=None), replace(whole, flood=frozenset())):
        assert report(WANT, replace(KERNEL, vxlans={"pw1.2": broken}), {}, {}, "1").endpoints[0].tunnels == []


def test_a_tunnel_does_not_count_before_it_is_encrypted() -> None:
    for awaited, expected in ((frozenset({vtep(2)}), []), (frozenset({vtep(3)}), ["e2"])):
        (state,) = report(WANT, KERNEL, {}, {}, "1", awaited).endpoints
        assert [tunnel.remote for tunnel in state.tunnels] == expected


def test_an_unknown_pseudowire_is_reported_without_a_name() -> None:
    stray = vpls.device(WANT.endpoints[0], Pseudowire(9, 4105, 1, vtep(9)))
    (tunnel,) = report(WANT, replace(KERNEL, vxlans={"pw1.9": stray}), {}, {}, "1").endpoints[0].tunnels
    assert (tunnel.remote, tunnel.ve_id) == (None, 9)


def test_evpn() -> None:
    want = desired(endpoint(1, flavour=Flavour.EVPN, remotes=[remote(endpoint(2, flavour=Flavour.EVPN))]))
    kernel = after(Snapshot(), plan(want, {}, Snapshot()).operations)
    kernel = replace(kernel, vxlans={"vx1": replace(kernel.vxlans["vx1"], flood=frozenset({Flood(vtep(2), 10000)}))})
    (state,) = report(want, kernel, {}, {}, "1").endpoints
    assert [(t.remote, t.ve_id, t.rx_vni, t.tx_vni) for t in state.tunnels] == [("e2", None, 10000, 10000)]
    assert state.problems == []


def test_the_process_own_footprint_makes_no_new_report() -> None:
    one = report(WANT, KERNEL, {}, {}, "1")
    assert same(one, one.model_copy(update={"resident_bytes": 1, "cpu_seconds": 99.0}))
    assert not same(one, one.model_copy(update={"version": 2}))


def test_show() -> None:
    assert json.loads(text(KERNEL, "json"))["lans"][0]["tunnels"] == [
        {"device": "pw1.2", "up": True, "receives_on": 4098, "vtep": vtep(2), "sends_on": 8193}
    ]
    assert "tunnel  pw1.2  to 192.0.2.2  rx 4098  tx 8193" in text(KERNEL, "table")
    assert text(Snapshot(), "table") == "no LAN"
