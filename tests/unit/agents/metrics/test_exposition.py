"""The text of an agent's metrics: what Prometheus reads from it, and the page that lists them."""

import re
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agents.metrics.exposition import Refused, State, render
from agents.metrics.tally import DHCP, HELPERS, Tally
from controller.wire.findings import Finding, Passage
from controller.wire.moves import Progress
from controller.wire.reports import Report
from controller.wire.tunnels import Ipsec, IpsecTunnel
from tests.house.imports import ROOT
from tests.unit.doctor.regions import Region

PAGE = ROOT / "docs/reference/agent-metrics.md"

Labels = dict[str, str]


def a_report() -> Report:
    report = Region(2, [{1, 2}]).cloudlet(1).report
    assert report is not None
    passages = [
        Passage(remote="c2-lan", allowed=True, verdict="passes"),
        Passage(remote="c2-lan", allowed=True, verdict="silent", family="ipv6"),
        Passage(remote="c3-lan", allowed=False, verdict="silent"),
    ]
    lan = report.endpoints[0].model_copy(update={"passages": passages, "problems": ["a problem"]})
    tunnel = IpsecTunnel(cloudlet="c2", local="192.0.2.1", remote="192.0.2.2", state="down", age=1.0)
    finding = Finding(kind="setting", subject="a", expected="0", found="1", text="a is 1")
    return report.model_copy(update={"endpoints": [lan], "ipsec": Ipsec(tunnels=[tunnel]), "findings": [finding] * 2})


STATE = State(
    cloudlet="c1",
    version="1.4.0",
    started=100.0,
    now=200.5,
    connected=True,
    report=a_report(),
    tally=Tally(),
    leases={"c1-lan": 3},
    refused=[Refused("c1-lan", "dhcp-at", 7), Refused("", "vxlan.outside", 2)],
    helpers={"gobgpd": True, "charon": False},
)


def read(state: State) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the samples by name and labels other than `cloudlet`, as Prometheus' own parser reads them."""
    found = {}
    for family in text_string_to_metric_families(render(state)):
        for sample in family.samples:
            assert sample.labels["cloudlet"] == "c1"
            found[sample.name, frozenset(sample.labels.items() - {("cloudlet", "c1")})] = sample.value
    return found


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("info", {"version": "1.4.0"}, 1),
        ("timestamp_seconds", {}, 200.5),
        ("start_time_seconds", {}, 100),
        ("connected", {}, 1),
        ("generation", {}, 7),
        ("helper_up", {"helper": "gobgpd"}, 1),
        ("helper_up", {"helper": "charon"}, 0),
        ("session_up", {"route_server": "rs1"}, 1),
        ("leases", {"endpoint": "c1-lan"}, 3),
        ("tunnels", {"endpoint": "c1-lan"}, 1),
        ("problems", {"endpoint": "c1-lan"}, 1),
        ("passages", {"endpoint": "c1-lan", "family": "ipv4", "verdict": "passes"}, 1),
        ("passages", {"endpoint": "c1-lan", "family": "ipv4", "verdict": "silent"}, 1),
        ("passages", {"endpoint": "c1-lan", "family": "ipv6", "verdict": "silent"}, 1),
        ("findings", {"kind": "setting"}, 2),
        ("encrypted_tunnels", {"state": "down"}, 1),
        ("encrypted_tunnels", {"state": "up"}, 0),
        ("frames_refused_total", {"endpoint": "c1-lan", "reason": "dhcp-at"}, 7),
        ("frames_refused_total", {"endpoint": "", "reason": "vxlan.outside"}, 2),
        ("cpu_seconds_total", {}, 0.1),
    ],
)
def test_the_state_of_an_agent(name: str, labels: Labels, value: float) -> None:
    assert read(STATE)[f"weft_agent_{name}", frozenset(labels.items())] == value


def test_every_counter_begins_with_zero_and_counting_adds_no_series() -> None:
    tally = Tally()
    before = read(replace(STATE, tally=tally))
    counted = {key for key, value in before.items() if key[0].endswith("_total") and value == 0}
    assert len(counted) >= sum(map(len, DHCP.values())) + len(HELPERS) + 8
    tally.message("ipv4", "in", "discover")
    tally.message("ipv6", "out", "reply")
    tally.order(Progress(move="m", number=1, act="memory", state="failed"))
    tally.restarted("weft-images")
    tally.reconciled(True, 0.25)
    tally.reconciled(False, 0.5)
    tally.probed(10, 7)
    after = read(replace(STATE, tally=tally))
    assert after.keys() == before.keys()
    changed = {(name.removeprefix("weft_agent_"), value) for (name, _), value in after.items() - before.items()}
    assert changed == {
        *(("dhcp_messages_total", 1), ("moves_total", 1), ("helper_restarts_total", 1), ("reconciliations_total", 1)),
        *(("reconcile_seconds_total", 0.75), ("probes_sent_total", 10), ("probes_lost_total", 3)),
    }


def test_an_agent_that_has_not_reported_yet() -> None:
    names = {name for name, _ in read(replace(STATE, report=None, connected=False, leases={}, helpers={}, refused=()))}
    assert "weft_agent_timestamp_seconds" in names and "weft_agent_generation" not in names


def test_text_of_others_cannot_break_the_format() -> None:
    odd = 'x"\\\n# HELP weft_agent_leases'
    found = read(replace(STATE, leases={odd: 1}, refused=[Refused(odd, odd, 3)]))
    assert found["weft_agent_leases", frozenset({("endpoint", odd)})] == 1


def test_the_page_lists_every_metric_with_its_labels() -> None:
    listed = {}
    for name, labels in re.findall(r"^\| `(weft_agent_\w+)` \|([^|]*)\|", PAGE.read_text(), re.MULTILINE):
        listed[name] = set(re.findall(r"`(\w+)`", labels))
    assert listed == {name: {label for label, _ in labels} for name, labels in read(STATE)}
