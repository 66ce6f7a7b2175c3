"""Traces: nothing while they are off, the library's spans while they are on, and the protocol of a collector."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from controller.wire import tracing
from controller.wire.tracing import NoTraces, place
from tests.house.imports import ROOT
from tests.unit.wire.recorded import Recorded, below, failed, recording
from tests.unit.wire.recorded import place as place_of

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    with recording() as found:
        yield found


def calls(work: Any) -> int:
    """Return how many calls of functions some work makes, of Python's or C's."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_off_costs_three_calls_and_no_object() -> None:
    assert not tracing.on()

    def work() -> None:
        with tracing.span("a"):
            pass

    def nothing() -> None:
        pass

    assert calls(work) - calls(nothing) == 3  # span, __enter__, __exit__
    assert tracing.span("a") is tracing.span("b") is tracing.start("c") and not tracing.span("a")
    assert calls(lambda: tracing.headers()) - calls(nothing) == 1 and tracing.headers() == {}


def test_off_loads_nothing() -> None:
    code = (
        "import sys, controller.wire.tracing as t\n"
        "t.begin('x')\nwith t.span('a', {}): t.record('b', {}, 0, 1, own=t.place('m'))\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')], t.on())\n"
        "import controller.server.app, agents.agent\n"  # a library of theirs may know the API, which does nothing
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert done.stdout == "[] False\n[]\n", done.stderr


def test_spans_stand_below_each_other(recorded: Recorded) -> None:
    with tracing.span("outer", {"weft.move": "m"}) as outer:
        with tracing.span("inner") as inner:
            inner.set({"weft.vm": "web"})
            inner.name("renamed")
        assert len(outer.trace) == 32 and outer
    found = {span.name: span for span in recorded.spans}
    assert below(found["renamed"]) == place_of(found["outer"]) and below(found["outer"]) is None
    assert found["renamed"].attributes == {"weft.vm": "web"} and found["outer"].attributes == {"weft.move": "m"}


async def test_a_task_s_spans_stand_below_its_creator_s(recorded: Recorded) -> None:
    async def work() -> None:
        with tracing.span("inner"):
            await asyncio.sleep(0)

    with tracing.span("outer"):
        task = asyncio.create_task(work())
    await task
    assert below(recorded.one("inner")) == place_of(recorded.one("outer"))


def test_a_caller_s_trace_goes_on_and_out(recorded: Recorded) -> None:
    with tracing.span("request", kind="server", caller={"traceparent": CALLER, "tracestate": "a=b"}):
        sent = tracing.headers()
    span = recorded.one("request")
    assert below(span) == tracing.Place(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
    assert sent["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-") and sent["tracestate"] == "a=b"
    assert f"{place_of(span).span:016x}" in sent["traceparent"] and tracing.headers() == {}


@pytest.mark.parametrize("wrong", ["", "x", "00-0-0-00", CALLER.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32)])
def test_a_wrong_traceparent_begins_a_trace(recorded: Recorded, wrong: str) -> None:
    with tracing.span("request", caller={"traceparent": wrong}):
        pass
    assert below(recorded.one("request")) is None


def test_an_error_is_named_without_its_text(recorded: Recorded) -> None:
    with pytest.raises(ValueError, match="a secret"), tracing.span("it fails"):
        raise ValueError("a secret")
    span = recorded.one("it fails")
    assert failed(span) == "ValueError" and not span.events and "secret" not in span.to_json()


def test_a_span_of_another_s_work(recorded: Recorded) -> None:
    with tracing.span("outer"):
        later = tracing.start("later")
        assert not recorded.spans
        with tracing.span("beside"):
            pass
    with later, tracing.span("within"):
        pass
    lost = tracing.start("lost")
    lost.fail("it is away")
    lost.end()
    assert below(recorded.one("later")) == below(recorded.one("beside")) == place_of(recorded.one("outer"))
    assert below(recorded.one("within")) == place_of(recorded.one("later"))
    assert failed(recorded.one("lost")) == "it is away"


def test_places_follow_from_words(recorded: Recorded) -> None:
    """Two parts of a move, in any order, and neither told by the other."""
    root, step = place("move-1"), place("move-1", 3)
    assert root.trace == step.trace != place("move-2").trace and root.span != step.span and step == place("move-1", 3)
    with tracing.span("agent disk", at=step):
        pass
    tracing.record("move disk", {}, 100.0, 102.5, own=step, below=root)
    tracing.record("move", {"weft.vm": "web"}, 99.0, 110.0, own=root, beside=CALLER, failed="it was cancelled")
    agent, disk, move = (recorded.one(name) for name in ("agent disk", "move disk", "move"))
    assert (place_of(disk), place_of(move)) == (step, root)
    assert (below(agent), below(disk), below(move)) == (step, root, None)
    assert (disk.start_time, disk.end_time) == (100_000_000_000, 102_500_000_000)
    (link,) = move.links
    assert f"{link.context.span_id:016x}" == "b7ad6b7169203331" and failed(move) == "it was cancelled"
    with tracing.span("another"):
        pass
    assert place_of(recorded.one("another")).trace != root.trace, "given ids are for one span"


def test_a_recorded_move_within_a_request_keeps_its_own_trace(recorded: Recorded) -> None:
    with tracing.span("request"):
        tracing.record("move", {}, 1.0, 2.0, own=place("move-1"))
    assert below(recorded.one("move")) is None and place_of(recorded.one("move")) == place("move-1")


@pytest.mark.parametrize(("sampler", "kept"), [("always_on", 3), ("parentbased_always_off", 0), ("always_off", 0)])
def test_all_parts_of_a_move_are_sampled_alike(monkeypatch: pytest.MonkeyPatch, sampler: str, kept: int) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    with recording() as recorded:
        with tracing.span("agent", at=place("move-1", 3)):
            pass
        tracing.record("step", {}, 1.0, 2.0, own=place("move-1", 3), below=place("move-1"))
        tracing.record("move", {}, 1.0, 2.0, own=place("move-1"))
        assert len(recorded.spans) == kept


def test_a_share_of_moves_is_sampled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    with recording() as recorded:
        for number in range(50):
            move = f"move-{number}"
            with tracing.span("agent", at=place(move, 3)):
                pass
            tracing.record("move", {}, 1.0, 2.0, own=place(move))
        traces = {name: {place_of(one).trace for one in recorded.named(name)} for name in ("agent", "move")}
        assert traces["agent"] == traces["move"] and 5 < len(traces["move"]) < 45


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"OTEL_TRACES_EXPORTER": "jaeger"}, "OTEL_TRACES_EXPORTER: 'jaeger' is not otlp or none"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not http/protobuf"),
    ],
)
def test_a_way_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], reason: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NoTraces, match=reason):
        tracing.begin("weft")
    assert not tracing.on()


@pytest.mark.parametrize("variables", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_the_standard_s_variables_turn_it_off(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    assert not tracing.wanted()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    assert tracing.wanted()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert not tracing.wanted()


@pytest.mark.parametrize("program", ["controller", "agent"])
def test_without_the_library_a_program_does_not_start(tmp_path: Any, program: str) -> None:
    """The program itself, where the extra is not installed."""
    (tmp_path / "agent.toml").write_text(
        f'cloudlet = "c1"\ncontroller = "http://127.0.0.1:9"\ntoken_file = "x"\nstate_dir = "{tmp_path}"\n'
    )
    words = {"controller": [], "agent": ["run", "--config", f"{tmp_path}/agent.toml"]}[program]
    main = {"controller": "controller.main", "agent": "agents.main"}[program]
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = sys.modules['opentelemetry.exporter'] = None\n"
        f"from {main} import main; sys.argv[1:] = {words!r}; sys.exit(main())"
    )
    environment = os.environ | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "WEFT_LISTEN": "127.0.0.1:0",
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path}/weft.db",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 1 and "weft-vcp[traces]" in done.stderr and "Traceback" not in done.stderr
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in done.stderr


class Collector(BaseHTTPRequestHandler):
    """Takes what exporters send, and decodes it."""

    received: list[tuple[str, str, ExportTraceServiceRequest]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.path, self.headers["Content-Type"], ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, str, ExportTraceServiceRequest]]]]:
    received: list[tuple[str, str, ExportTraceServiceRequest]] = []
    handler = type("Handler", (Collector,), {"received": received})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


def test_a_collector_gets_spans_by_otlp(monkeypatch: pytest.MonkeyPatch, collector: Any) -> None:
    url, received = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    with tracing.traced("weft-controller", {"weft.replica": "north"}):
        tracing.record("move", {"weft.vm": "web"}, 1.0, 2.0, own=place("move-1"))
        with tracing.span("agent", at=place("move-1", 3)):
            pass
    assert not tracing.on()
    ((path, kind, request),) = received
    assert (path, kind) == ("/v1/traces", "application/x-protobuf")
    (resource,) = request.resource_spans
    said = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert (said["service.name"], said["weft.replica"]) == ("weft-controller", "north")
    (scope,) = resource.scope_spans
    move, agent = scope.spans
    assert (move.name, move.end_time_unix_nano, int.from_bytes(move.trace_id)) == (
        "move",
        2 * 10**9,
        place("move-1").trace,
    )
    assert int.from_bytes(agent.parent_span_id) == place("move-1", 3).span and agent.trace_id == move.trace_id


def test_a_silent_collector_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(tracing, "LAST", 0.05)
    with tracing.traced("weft"), tracing.span("a"):
        pass
    assert not tracing.on()
