"""The metrics that a controller, a route server and an agent expose, as the text of a scrape in which every metric has
samples.

The controller's text comes from its own registry, the agent's from its own renderer. The route server's comes from the
list of its metrics that its Go test compares with a real scrape."""

import time
from collections.abc import Mapping
from functools import cache
from itertools import product

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from agents.metrics.exposition import Refused, State, render
from agents.metrics.tally import Tally
from controller.runtime.metrics import Metrics
from controller.wire.findings import Finding, Passage
from controller.wire.reports import EndpointState, Report, SpeakerState
from controller.wire.tunnels import Ipsec
from tests.house.imports import ROOT

GOLDEN = ROOT / "routeserver/internal/control/testdata/metrics.txt"
"""A line for each metric of the route server: name, type and labels, and after a tab its help."""

VALUES: Mapping[str, tuple[str, ...]] = {"state": ("done", "undone", "possible", "up"), "status": ("200", "503")}
"""The values of labels that queries ask for; the name stands for the value of any other label."""

BUCKETS = ("0.1", "+Inf")


@cache
def controller() -> str:
    """Return a leading controller's exposition."""
    metrics = Metrics()
    for collector in list(metrics.registry._collector_to_names):
        assert isinstance(collector, MetricWrapperBase)
        for values in product(*(VALUES.get(label, (label,)) for label in collector._labelnames)):
            if values:
                collector.labels(*values)
    metrics.leading.set(1)
    return metrics.text().decode()


@cache
def route_server() -> str:
    """Return a route server's exposition."""
    lines: list[str] = []
    for name, kind, *labels in (line.partition("\t")[0].split() for line in GOLDEN.read_text().splitlines()):
        own = [f'{label}="{label}"' for label in labels]
        if kind == "histogram":
            lines += [_sample(f"{name}_bucket", [*own, f'le="{bound}"']) for bound in BUCKETS]
            lines += [_sample(f"{name}_sum", own), _sample(f"{name}_count", own)]
        else:
            lines.append(_sample(name, own))
    return "".join(lines)


@cache
def agent() -> str:
    """Return an agent's exposition."""
    tally = Tally()
    tally.probed(10, 5)
    passage = Passage(remote="c2-lan", allowed=True, verdict="passes")
    finding = Finding(kind="setting", subject="a", expected="0", found="1", text="a is 1, not 0")
    lan = EndpointState(
        endpoint="c1-lan", bridge="lan1", ports=[], tunnels=[], routes=[], problems=[], passages=[passage]
    )
    report = Report(
        cloudlet="c1",
        version=1,
        generation=1,
        agent_version="1",
        endpoints=[lan],
        speakers=[SpeakerState(name="rs1", state="established")],
        resident_bytes=1,
        cpu_seconds=1.0,
        ipsec=Ipsec(tunnels=[]),
        findings=[finding],
    )
    state = State(
        cloudlet="c1",
        version="1",
        started=0.0,
        now=time.time(),
        connected=True,
        report=report,
        tally=tally,
        leases={"c1-lan": 3},
        refused=[Refused("c1-lan", "dhcp-at", 7)],
        helpers={"gobgpd": True},
    )
    return render(state)


def _sample(name: str, labels: list[str]) -> str:
    return f"{name}{{{','.join(labels)}}} 1\n"


@cache
def exposed() -> Mapping[str, frozenset[str]]:
    """Return the labels of all samples, by name."""
    families = [
        family for text in (controller(), route_server(), agent()) for family in text_string_to_metric_families(text)
    ]
    return {sample.name: frozenset(sample.labels) for family in families for sample in family.samples}
