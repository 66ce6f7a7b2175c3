"""The metrics for Prometheus. One registry per controller, so that two in one process do not mix."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics import MetricWrapperBase

from controller.core.sighting_evidence import Worth
from controller.runtime.counters import counter
from controller.runtime.move_metrics import MoveMetrics
from controller.wire.sightings import How

MEDIA_TYPE = CONTENT_TYPE_LATEST

WAYS = ("in", "out")
"""The directions of traffic through tunnels."""


class MetricFamily(NamedTuple):
    """A metric as it is exposed: its name, its type, the names of its labels, and its help."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


class Metrics:
    """Counters, histograms and gauges. The API sets some gauges only when the metrics are read."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        times = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
        self.requests = Counter(
            "weft_http_requests", "Requests answered", ["method", "route", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "weft_http_request_seconds", "Time to answer", ["method", "route"], buckets=times, registry=self.registry
        )
        self.change_seconds = Histogram(
            "weft_change_seconds", "Time until a change was in force", buckets=times, registry=self.registry
        )
        self.generation = Gauge("weft_generation", "Generation of the rule set", registry=self.registry)
        self.leading = Gauge("weft_leading", "1 if it does the background work of all replicas", registry=self.registry)
        self.agents = Gauge("weft_agents_connected", "Agents with an open stream", registry=self.registry)
        self.agents_expected = Gauge(
            "weft_agents_expected",
            "Cloudlets that have enrolled and whose agent should be connected",
            registry=self.registry,
        )
        self.cloudlets = Gauge("weft_cloudlets", "Cloudlets", registry=self.registry)
        self.endpoints = Gauge("weft_endpoints", "Endpoints", registry=self.registry)
        self.vcps = Gauge("weft_vcps", "Virtual Cloud Pools", registry=self.registry)
        self.leases = Counter("weft_leases_granted", "New leases", registry=self.registry)
        self.neighbour_reports = Counter(
            "weft_neighbour_reports", "Reports on neighbours that were committed", registry=self.registry
        )
        self.neighbour_rounds = counter(
            self.registry,
            "weft_neighbour_rounds",
            "Rounds in them: kept, repeated by the agent, of unknown neighbours, too old for the history",
            outcome=("kept", "repeated", "unknown", "too_old"),
        )
        self.neighbours = Gauge(
            "weft_neighbours", "Ordered pairs: possible neighbours, too far, stale", ["state"], registry=self.registry
        )
        self.tunnels = Gauge(
            "weft_tunnels", "Ends of encrypted tunnels: up, connecting, down", ["state"], registry=self.registry
        )
        self.tunnel_alarms = Gauge(
            "weft_tunnel_alarms", "Encrypted tunnels that are needed and missing for too long", registry=self.registry
        )
        self.tunnel_traffic = {
            what: counter(self.registry, f"weft_tunnel_{what}", f"{what.title()} through them", direction=WAYS)
            for what in ("bytes", "packets")
        }
        self.tunnel_dropped = counter(
            self.registry,
            "weft_tunnel_plaintext_dropped",
            "Packets of VXLAN in the clear that were kept in or out",
            direction=WAYS,
        )
        self.sightings = counter(
            self.registry,
            "weft_sightings",
            "Sightings by how, and what they were worth: seen, of a VM, of nobody known, spoofed",
            how=get_args(How),
            worth=Worth,
        )
        self.devices_settled = Counter(
            "weft_devices_settled", "Devices that were taken to be elsewhere", registry=self.registry
        )
        self.moves = MoveMetrics(self.registry)
        self.policy_drift = Gauge(
            "weft_policy_drift", "Steps from what is to what the policy in force wants", registry=self.registry
        )
        self.policy_failing = Gauge(
            "weft_policy_failing", "Tests of the policy in force that fail", registry=self.registry
        )
        self.webhooks_sent = Counter(
            "weft_webhooks_sent", "Events that receivers of webhooks have taken", ["webhook"], registry=self.registry
        )
        self.webhooks_failed = Counter(
            "weft_webhooks_failed", "Attempts to send them that failed", ["webhook"], registry=self.registry
        )
        self.webhook_backlog = Gauge(
            "weft_webhook_backlog",
            "Events that wait for a receiver, by the leader",
            ["webhook"],
            registry=self.registry,
        )
        self.inventory_drift = Gauge(
            "weft_inventory_drift", "Steps from what is to what the last inventory declares", registry=self.registry
        )
        self.lost_events = Gauge("weft_events_dropped", "Events that came too fast", registry=self.registry)
        self.route_server = Gauge(
            "weft_route_server_in_step", "1 if at the current generation", ["name"], registry=self.registry
        )

    def expect(self, failures: Iterable[tuple[str, str, str]]) -> None:
        """Begin to count failures that requests may have (method, route, status) before there is any."""
        for method, route, status in failures:
            self.requests.labels(method, route, status)

    def text(self) -> bytes:
        """Return all metrics in the exposition format."""
        return generate_latest(self.registry)

    def families(self) -> Iterator[MetricFamily]:
        """Yield all metrics, with samples or without."""
        for collector in self.registry._collector_to_names:
            assert isinstance(collector, MetricWrapperBase)
            for one in collector.describe():
                name = f"{one.name}_total" if one.type == "counter" else one.name
                yield MetricFamily(name, one.type, tuple(collector._labelnames), one.documentation)
