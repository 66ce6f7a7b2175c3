"""Turns the agent's state into Prometheus' text format. Pure. The only file of the agent that imports
prometheus_client."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.metrics.tally import Tally
from controller.wire.reports import Report

PREFIX = "weft_agent_"

Samples = Iterable[tuple[Sequence[str], float]]


@dataclass(frozen=True)
class Refused:
    """The frames that the rules of an endpoint's LAN have dropped for a reason. Without an endpoint they came to the
    host itself."""

    endpoint: str
    reason: str
    packets: int


@dataclass(frozen=True)
class State:
    """The state of an agent at the time `now` (seconds since 1970). `connected`: it follows the controller's stream.
    `report` is the last report that it has made; `leases` are those held now, by endpoint, and `helpers` says which
    daemons beside the agent are as it needs them."""

    cloudlet: str
    version: str
    started: float
    now: float
    connected: bool
    report: Report | None
    tally: Tally
    leases: Mapping[str, int] = field(default_factory=dict)
    refused: Sequence[Refused] = ()
    helpers: Mapping[str, bool] = field(default_factory=dict)


def render(state: State) -> str:
    """Return the metrics of an agent. Each has the label `cloudlet`."""
    registry = CollectorRegistry()
    registry.register(_Of(state))
    return generate_latest(registry).decode()


class _Of(Collector):
    def __init__(self, state: State) -> None:
        self._state = state

    def describe(self) -> list[Metric]:
        """Return nothing: the registry need not collect to learn names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        state, tally = self._state, self._state.tally
        yield self._gauge("info", "1, with the agent's release", [((state.version,), 1)], "version")
        yield self._gauge("timestamp_seconds", "When this was written, in seconds since 1970", [((), state.now)])
        yield self._gauge("start_time_seconds", "When the agent began, in seconds since 1970", [((), state.started)])
        yield self._gauge("connected", "1 if the agent follows the controller's stream", [((), state.connected)])
        yield self._gauge(
            "helper_up", "1 if a daemon beside the agent is as the agent needs it", _by_name(state.helpers), "helper"
        )
        yield self._gauge("leases", "Leases that are held now", _by_name(state.leases), "endpoint")
        yield self._counter(
            "frames_refused",
            "Frames that the LAN's rules have dropped",
            [((one.endpoint, one.reason), one.packets) for one in state.refused],
            *("endpoint", "reason"),
        )
        yield self._counter("dhcp_messages", "Messages of DHCP", tally.dhcp.items(), "family", "direction", "kind")
        yield self._counter("moves", "Orders of moves that have ended", tally.moves.items(), "act", "outcome")
        yield self._counter("helper_restarts", "Helpers that ended by themselves", _by_name(tally.restarts), "program")
        yield self._counter("reconciliations", "Reconcile passes", _by_name(tally.reconciliations), "outcome")
        yield self._counter("reconcile_seconds", "Time of all reconcile passes", [((), tally.reconcile_seconds)])
        yield self._counter("probes_sent", "Echoes sent to neighbours", [((), tally.probes_sent)])
        yield self._counter("probes_lost", "Of these, those without an answer in time", [((), tally.probes_lost)])
        if state.report is not None:
            yield from self._reported(state.report)

    def _reported(self, report: Report) -> Iterator[Metric]:
        lans = report.endpoints
        yield self._gauge("generation", "Generation that the kernel was brought to", [((), report.generation)])
        yield self._gauge("resident_bytes", "Memory of the agent's process", [((), report.resident_bytes)])
        yield self._counter("cpu_seconds", "Processor time of the agent's process", [((), report.cpu_seconds)])
        yield self._gauge(
            "session_up",
            "1 if the PE's BGP session with a route server is established",
            [((one.name,), one.state == "established") for one in report.speakers],
            "route_server",
        )
        yield self._gauge(
            "tunnels", "Tunnels in the kernel", [((lan.endpoint,), len(lan.tunnels)) for lan in lans], "endpoint"
        )
        yield self._gauge(
            "problems",
            "Things that the agent could not do",
            [((lan.endpoint,), len(lan.problems)) for lan in lans],
            "endpoint",
        )
        passages = Counter((lan.endpoint, one.family, one.verdict) for lan in lans for one in lan.passages)
        for lan in lans:
            passages.update({(lan.endpoint, "ipv4", "silent"): 0, (lan.endpoint, "ipv4", "passes"): 0})
        yield self._gauge(
            "passages", "Remotes by the verdict of probes", passages.items(), "endpoint", "family", "verdict"
        )
        findings = Counter[str](one.kind for one in report.findings)
        yield self._gauge("findings", "Findings at this host", _by_name(findings), "kind")
        if report.ipsec is not None:
            states = Counter({"up": 0, "connecting": 0, "down": 0})
            states.update(tunnel.state for tunnel in report.ipsec.tunnels)
            yield self._gauge("encrypted_tunnels", "Encrypted tunnels", _by_name(states), "state")

    def _gauge(self, name: str, meaning: str, samples: Samples, *labels: str) -> Metric:
        family = GaugeMetricFamily(PREFIX + name, meaning, labels=["cloudlet", *labels])
        return self._filled(family, samples)

    def _counter(self, name: str, meaning: str, samples: Samples, *labels: str) -> Metric:
        family = CounterMetricFamily(PREFIX + name, meaning, labels=["cloudlet", *labels])
        return self._filled(family, samples)

    def _filled(self, family: GaugeMetricFamily | CounterMetricFamily, samples: Samples) -> Metric:
        for values, value in sorted(samples, key=lambda sample: tuple(sample[0])):
            family.add_metric([self._state.cloudlet, *values], float(value))
        return family


def _by_name(values: Mapping[str, float]) -> Samples:
    return [((name,), value) for name, value in values.items()]
