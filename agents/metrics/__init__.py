"""The agent's own metrics, in a file that Prometheus' node_exporter reads: an edge host gets no further listener.

`tally.py` counts what happens; `exposition.py` makes the text of that and of the agent's state, and is the door to
prometheus_client; `metrics.py` writes the file from time to time."""

from agents.metrics.metrics import Metrics, Seen
from agents.metrics.tally import Tally

__all__ = ["Metrics", "Seen", "Tally"]
