"""The metrics of moves: how they end, how long they and their pauses take, and what goes over the network."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram

from controller.runtime.counters import counter
from controller.wire.moves import Act, Figures, Pages

TRANSFERS: Mapping[str, tuple[Act, ...]] = {"disk": ("disk",), "memory": ("memory", "switchover", "activate")}
"""The acts that transfer a machine's disk, and those that transfer its memory; in post-copy `activate` is one."""

TREATMENTS = ("zero", "same", "known", "delta", "literal")
"""The ways of a page over a thin line (Pages)."""

ENDS = ("done", "copied", "initiated", "undone")
"""The ways that a move may end."""


class MoveMetrics:
    """A replica counts the moves whose end it has committed itself."""

    def __init__(self, registry: CollectorRegistry) -> None:
        seconds = (1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)
        pauses = (0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
        self._ended = counter(
            registry,
            "weft_moves_ended",
            "Moves that ended: done, copied (ahead of one), initiated (the VM started anew), undone",
            state=ENDS,
        )
        self._seconds = Histogram(
            "weft_move_seconds", "Time of moves that were done", buckets=seconds, registry=registry
        )
        self._paused = Histogram(
            "weft_move_paused_seconds", "Pause of their machines", buckets=pauses, registry=registry
        )
        self._bytes = counter(registry, "weft_move_bytes", "Bytes of their disks and memory", medium=TRANSFERS)
        self._wire = counter(registry, "weft_move_wire_bytes", "Bytes of them on the network", medium=TRANSFERS)
        self._pages = counter(
            registry, "weft_move_pages", "Pages over thin lines: zero, same, known, delta, literal", how=TREATMENTS
        )
        self._repeats = Counter("weft_move_repeats", "Parts over thin lines that went again", registry=registry)
        self._kept = counter(registry, "weft_move_kept_copies", "Kept copies that were of use", medium=TRANSFERS)

    def ended(self, state: str, seconds: float, figures: Mapping[str, Figures]) -> None:
        """Count a move that ended, with its time and the figures of its acts. Only those of moves that are done count
        further."""
        self._ended.labels(state).inc()
        if state != "done":
            return
        self._seconds.observe(seconds)
        if pauses := [found.paused_ms for found in figures.values() if found.paused_ms is not None]:
            self._paused.observe(sum(pauses) / 1000)
        for medium, acts in TRANSFERS.items():
            for found in (figures[act] for act in acts if act in figures):
                self._bytes.labels(medium).inc(found.done or 0)
                self._wire.labels(medium).inc(found.wire or 0)
                if found.pages is not None:
                    self._thin(medium, found.pages)

    def _thin(self, medium: str, pages: Pages) -> None:
        for how in TREATMENTS:
            self._pages.labels(how).inc(getattr(pages, how))
        self._repeats.inc(pages.repeats)
        if pages.kept:
            self._kept.labels(medium).inc()
