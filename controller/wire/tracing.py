"""Traces (OpenTelemetry): spans of requests, changes and moves, sent to a collector by OTLP over HTTP. The only module
that imports `opentelemetry`, which is the optional extra `traces`.

Off, unless the standard variable OTEL_EXPORTER_OTLP_ENDPOINT, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, is set; the other
variables of the standard (OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, …) apply as well. While
it is off, `span` and `start` return one object that does nothing, and nothing is imported.

A request's trace begins where its caller's `traceparent` says (W3C Trace Context). A move outlives its request, its
controller and its agents, so it is a trace of its own: the ids follow from its name and the numbers of its orders, so
that each part adds its spans without being told more than its order."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Thread
from types import TracebackType
from typing import Any, Self

from controller.wire.release import DISTRIBUTION, release

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

LAST = 3.0
"""Seconds that the last spans get when a program ends."""

Value = str | int | float | bool
Values = Mapping[str, Value]
"""The attributes of a span. Names that are not the standard's begin with `weft.`."""

NONE: Values = {}


class NoTraces(Exception):  # noqa: N818 - a sentence for the user
    """Traces are asked for, and cannot be made."""


@dataclass(frozen=True)
class Place:
    """A span's place: its trace's id and its own."""

    trace: int
    span: int


class Span:
    """A span, or nothing. As a context manager it is the present one in its block, and ends with it."""

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @property
    def trace(self) -> str:
        """The id of the trace in hex; empty if there is none."""
        return ""

    def name(self, name: str) -> None:
        """Give the span another name."""

    def set(self, of: Values) -> None:
        """Add attributes."""

    def fail(self, reason: str) -> None:
        """Note that the work failed."""

    def end(self) -> None:
        """End the span now."""


@dataclass(frozen=True)
class _Library:
    """The library's objects while traces are made."""

    provider: Any
    tracer: Any


_OFF = Span()
_library: _Library | None = None
_given: ContextVar[Place | None] = ContextVar("given", default=None)
"""The ids of the next span, where they must be these."""


def wanted() -> bool:
    """Return whether the environment asks for traces. Raises NoTraces for a way that there is not."""
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    if exporter == "none":
        return False
    if exporter != "otlp":
        raise NoTraces(f"OTEL_TRACES_EXPORTER: {exporter!r} is not otlp or none")
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if (protocol := os.environ.get(name) or "http/protobuf") != "http/protobuf":
            raise NoTraces(f"{name}: {protocol!r} is not http/protobuf")
    return True


def begin(service: str, of: Values = NONE) -> None:
    """Make traces from now on if the environment asks for them. `service` is the program, unless OTEL_SERVICE_NAME
    names it; `of` says which one it is. Raises NoTraces."""
    if not wanted():
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        name = next(name for name in ENDPOINTS if os.environ.get(name))
        text = f"{name} asks for traces, which need OpenTelemetry ({error}): pip install '{DISTRIBUTION}[traces]'"
        raise NoTraces(text) from None
    use(BatchSpanProcessor(OTLPSpanExporter()), service, of)


def use(processor: Any, service: str, of: Values = NONE) -> None:
    """Make traces from now on, and give their spans to a processor of the library's."""
    global _library
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    named = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or service, "service.version": release()}
    resource = Resource.create({**of, **named})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False, id_generator=_generator())
    provider.add_span_processor(processor)
    _library = _Library(provider, provider.get_tracer("weft", release()))


def end() -> None:
    """Send the spans that wait, for LAST seconds at most, and make no further ones."""
    global _library
    ended, _library = _library, None
    if ended is not None:
        closing = Thread(target=ended.provider.shutdown, daemon=True)  # waits longer for a silent collector
        closing.start()
        closing.join(LAST)


def on() -> bool:
    """Return whether traces are made."""
    return _library is not None


def span(
    name: str,
    of: Values = NONE,
    *,
    kind: str = "internal",
    at: Place | None = None,
    caller: Mapping[str, str] | None = None,
) -> Span:
    """Return a span for a block, below the present one; or below the one at a place; or below the one that the headers
    of a caller's request name, if they name one. `kind`: internal, server, client."""
    return _OFF if _library is None else _start(_library, name, of, kind, at, caller)


def start(name: str, of: Values = NONE, *, kind: str = "internal") -> Span:
    """Return a span that begins now, below the present one, for work that another task does and ends. It is not the
    present one until it is entered."""
    return _OFF if _library is None else _start(_library, name, of, kind, None, None)


def record(
    name: str,
    of: Values,
    began: float,
    ended: float,
    *,
    own: Place,
    below: Place | None = None,
    beside: str = "",
    failed: str = "",
) -> None:
    """Add a span that is over, with times in seconds since 1970. `own` is its place, `below` its parent's, `beside` the
    `traceparent` of a span of another trace that led to it, and `failed` why its work failed."""
    if _library is None:
        return
    from opentelemetry import trace
    from opentelemetry.context import Context

    parent = Context() if below is None else _context(_library, below)
    links = [trace.Link(found)] if (found := _read({"traceparent": beside})) is not None else []
    given = _given.set(own)
    try:
        made = _library.tracer.start_span(name, parent, attributes=of, links=links, start_time=_nanoseconds(began))
    finally:
        _given.reset(given)
    live = _Live(made)
    if failed:
        live.fail(failed)
    made.end(_nanoseconds(ended))


def place(*words: object) -> Place:
    """Return the place that follows from some words; the first one alone determines the trace."""
    whole = hashlib.sha256("\0".join(map(str, words)).encode()).digest()
    first = hashlib.sha256(f"weft trace\0{words[0]}".encode()).digest()
    return Place(int.from_bytes(first[:16]), int.from_bytes(whole[:8]))


def headers() -> dict[str, str]:
    """Return the headers that name the present span to the receiver of a request; none while there is no span."""
    if _library is None:
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier


class _Live(Span):
    """A span of the library's."""

    def __init__(self, made: Any) -> None:
        self._made = made
        self._entered: AbstractContextManager[Any] | None = None

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        from opentelemetry import trace

        # Errors are not recorded with their texts and stacks: those of the database contain values.
        self._entered = trace.use_span(
            self._made, end_on_exit=True, record_exception=False, set_status_on_exception=False
        )
        self._entered.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.fail(kind.__name__)
        if self._entered is not None:
            self._entered.__exit__(kind, error, trace)

    @property
    def trace(self) -> str:
        return f"{self._made.get_span_context().trace_id:032x}"

    def name(self, name: str) -> None:
        self._made.update_name(name)

    def set(self, of: Values) -> None:
        self._made.set_attributes(of)

    def fail(self, reason: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._made.set_status(Status(StatusCode.ERROR, reason[:1000]))

    def end(self) -> None:
        self._made.end()


def _start(
    library: _Library, name: str, of: Values, kind: str, at: Place | None, caller: Mapping[str, str] | None
) -> Span:
    from opentelemetry import trace

    parent = None if at is None else _context(library, at)
    if caller is not None and (found := _read(caller)) is not None:
        parent = trace.set_span_in_context(trace.NonRecordingSpan(found))
    kinds = {"internal": trace.SpanKind.INTERNAL, "server": trace.SpanKind.SERVER, "client": trace.SpanKind.CLIENT}
    return _Live(library.tracer.start_span(name, parent, kind=kinds[kind], attributes=of))


def _context(library: _Library, at: Place) -> Any:
    """Return the library's context with the span at a place. Whether its trace is sampled follows from the id alone, so
    that every part finds the same."""
    from opentelemetry import trace
    from opentelemetry.context import Context

    sampled = library.provider.sampler.should_sample(Context(), at.trace, "").decision.is_sampled()
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if sampled else trace.TraceFlags.DEFAULT)
    found = trace.SpanContext(at.trace, at.span, is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(found))


def _read(headers: Mapping[str, str]) -> Any:
    """Return the library's place of a span that headers name; None if they name none."""
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    known = {name: headers[name] for name in ("traceparent", "tracestate") if headers.get(name)}
    found = trace.get_current_span(TraceContextTextMapPropagator().extract(known, Context())).get_span_context()
    return found if found.is_valid else None


def _generator() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        """Random ids, except for a span whose place is given."""

        def generate_span_id(self) -> int:
            return given.span if (given := _given.get()) is not None else super().generate_span_id()

        def generate_trace_id(self) -> int:
            return given.trace if (given := _given.get()) is not None else super().generate_trace_id()

    return Ids()


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)


@contextmanager
def traced(service: str, of: Values = NONE) -> Iterator[None]:
    """Make traces in this block, if the environment asks for them. Raises NoTraces."""
    begin(service, of)
    try:
        yield
    finally:
        end()
