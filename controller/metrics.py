"""What Prometheus is told. One registry per controller, so that two in one process do not mix."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """Counters and gauges; gauges are read when they are asked for."""

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
        self.agents = Gauge("weft_agents_connected", "Agents with an open stream", registry=self.registry)
        self.cloudlets = Gauge("weft_cloudlets", "Cloudlets", registry=self.registry)
        self.endpoints = Gauge("weft_endpoints", "Endpoints", registry=self.registry)
        self.vcps = Gauge("weft_vcps", "Virtual Cloud Pools", registry=self.registry)
        self.leases = Counter("weft_leases_granted", "New leases", registry=self.registry)
        self.lost_events = Gauge("weft_events_dropped", "Events that came too fast", registry=self.registry)
        self.route_server = Gauge(
            "weft_route_server_in_step", "1 if at the current generation", ["name"], registry=self.registry
        )

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
