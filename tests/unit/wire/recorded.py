"""The spans that a test's code has made, in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from controller.wire import tracing
from controller.wire.tracing import Place


@dataclass
class Recorded:
    """The spans that have ended so far."""

    exporter: InMemorySpanExporter

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str, **attributes: object) -> list[ReadableSpan]:
        """Return the spans of a name, with these attributes below `weft.`."""
        wanted = {f"weft.{key}": value for key, value in attributes.items()}
        return [one for one in self.spans if one.name == name and wanted.items() <= dict(one.attributes or {}).items()]

    def one(self, name: str, **attributes: object) -> ReadableSpan:
        """Return the only span of a name and these attributes."""
        found = self.named(name, **attributes)
        assert len(found) == 1, [(span.name, dict(span.attributes or {})) for span in self.spans]
        return found[0]


def place(span: ReadableSpan) -> Place:
    context = span.get_span_context()
    assert context is not None
    return Place(context.trace_id, context.span_id)


def below(span: ReadableSpan) -> Place | None:
    """Return the place of a span's parent."""
    return None if span.parent is None else Place(span.parent.trace_id, span.parent.span_id)


def failed(span: ReadableSpan) -> str | None:
    """Return why a span's work failed; None if it did not."""
    return None if span.status.is_unset else str(span.status.description)


@contextmanager
def recording(**resource: Any) -> Iterator[Recorded]:
    exporter = InMemorySpanExporter()
    tracing.use(SimpleSpanProcessor(exporter), "test", resource)
    try:
        yield Recorded(exporter)
    finally:
        tracing.end()
