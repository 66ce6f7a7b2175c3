"""The reference of all metrics: of the controller, from its registry, and of the route server, from the list that its
test compares with a scrape."""

from collections.abc import Iterator
from pathlib import Path

from controller.runtime.metrics import Metrics
from deploy.reference.markdown import code, table, text

LISTED = Path("routeserver/internal/control/testdata/metrics.txt")
"""A line for each metric of the route server: name, type and labels, and after a tab its help."""

_HEAD = ("metric", "type", "labels", "meaning")

_INTRO = """# Metrics

Every metric at `/metrics` of controllers and route servers, in Prometheus' format. A histogram `NAME` has the series
`NAME_bucket`, `NAME_sum` and `NAME_count`. `deploy/monitoring` has a scrape configuration, rules and dashboards.

{made}
"""
_CONTROLLER = """## Controller

Without a token. Each replica counts for itself."""
_ROUTE_SERVER = """## Route server

With the token of `--metrics-token-file` or `--token-file`. A metric with labels appears once it has a value. Those of
Go's runtime (`go_…`) come in addition."""


def metrics(root: Path, made: str) -> str:
    """Return the page."""
    parts = [_INTRO.format(made=made), _CONTROLLER, table(_HEAD, _controller())]
    parts += [_ROUTE_SERVER, table(_HEAD, _route_server((root / LISTED).read_text()))]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _controller() -> Iterator[tuple[str, str, str, str]]:
    for one in sorted(Metrics().families()):
        yield code(one.name), one.kind, ", ".join(map(code, one.labels)), text(one.help)


def _route_server(listed: str) -> Iterator[tuple[str, str, str, str]]:
    for line in listed.splitlines():
        described, _, help_ = line.partition("\t")
        name, kind, *labels = described.split()
        yield code(name), kind, ", ".join(map(code, labels)), text(help_)
