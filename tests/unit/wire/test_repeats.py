"""No source can fill a log: a limited number of lines of one kind are written, and further ones are counted."""

import io
import logging

from controller.wire.logs import Bounded
from controller.wire.repeats import KINDS, OF_KIND, OF_SOURCE, WINDOW, Repeats

LINE = "%s: no answer to %s"


def record(
    line: str = LINE, *values: object, level: int = logging.WARNING, name: str = "agents.dhcp.client_queue"
) -> logging.LogRecord:
    return logging.LogRecord("agents.dhcp.client_queue", level, "", 0, line, values, None)


def written(repeats: Repeats, records: list[logging.LogRecord], now: float = 0.0) -> list[str]:
    return [one.getMessage() for given in records for one in repeats.admit(given, now)]


def test_a_source_that_repeats_itself_is_written_a_few_times_and_counted() -> None:
    repeats = Repeats()
    assert len(written(repeats, [record(LINE, "lan1", n) for n in range(10_000)])) == OF_SOURCE
    assert written(repeats, [record(LINE, "lan2", 1)]) == ["lan2: no answer to 1"], "another source's"
    assert written(repeats, [record("%s is gone", "lan1")]) == ["lan1 is gone"], "of another kind"
    told, after = written(repeats, [record(LINE, "lan1", "x")], WINDOW)
    assert told == f"{10_000 - OF_SOURCE} more lines like this were left out within a minute: {LINE}"
    assert after == "lan1: no answer to x"
    assert len(written(repeats, [record(LINE, "lan1", n) for n in range(100)], WINDOW + 1)) == OF_SOURCE - 1


def test_sources_that_somebody_makes_up_are_bounded_together() -> None:
    repeats = Repeats()
    assert len(written(repeats, [record(LINE, f"mac{n}", 1) for n in range(10_000)])) == OF_KIND
    assert len(repeats._lines) <= 2 * OF_KIND + 1


def test_lines_that_somebody_makes_up_are_bounded_too() -> None:
    repeats = Repeats()
    assert len(written(repeats, [record(f"text {n}") for n in range(50_000)])) <= KINDS + OF_KIND
    assert len(repeats._lines) <= 2 * (KINDS + 1) + 1


def test_what_is_critical_is_always_written() -> None:
    assert len(written(Repeats(), [record(LINE, "a", 1, level=logging.CRITICAL)] * 500)) == 500


def test_a_log_is_bounded_so() -> None:
    stream = io.StringIO()
    handler = Bounded(stream)
    for number in range(1000):
        handler.handle(record(LINE, "lan1", number))
    assert stream.getvalue().count("\n") == OF_SOURCE
