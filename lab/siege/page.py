"""A siege as a page: the figures of the time before it and of the siege side by side, and what the attackers did."""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab import measurements
from lab.siege.figures import Calls, Figures

MIB = 1 << 20
CLIENTS = ("-dhcp", "-dhcp6")
"""The suffixes of the names of devices' own daemons, which are left out."""


def keep(base: Figures, siege: Figures, wrong: Sequence[str], output: Path) -> None:
    """Write all figures as JSON."""
    output.write_text(json.dumps({"base": asdict(base), "siege": asdict(siege), "wrong": list(wrong)}, indent=1) + "\n")


def write(base: Figures, siege: Figures, wrong: Sequence[str], page: Path) -> None:
    """Replace the page's figures, which are all that follows its mark."""
    measurements.show(text(base, siege, wrong, _machine()), page)


def text(base: Figures, siege: Figures, wrong: Sequence[str], machine: str) -> str:
    """Return the text that follows the mark."""
    verdict = "Nobody of good will noticed the siege." if not wrong else "This failed:"
    rows = [
        f"{machine}: {base.seconds:.0f} s without a siege, then {siege.seconds:.0f} s of it. {verdict}",
        "",
        *(f"- {line}" for line in wrong),
        *(f"- lost before the siege at {line}" for line in base.losses),
        *(f"- lost at {line}" for line in siege.losses),
        *([""] if wrong or base.losses or siege.losses else []),
        "| | before | siege |",
        "| --- | --: | --: |",
        *(f"| {name} | {before} | {now} |" for name, before, now in _rows(base, siege)),
        "",
        "| attacker | what it did | times |",
        "| --- | --- | --: |",
        *_did(siege.attacks),
        "",
        f"Events in the siege, all in `event list`: {_events(siege.events)}.",
        "",
    ]
    return "\n".join(rows)


def _rows(base: Figures, siege: Figures) -> Iterator[tuple[str, str, str]]:
    """Yield a figure's name, and its values before and in the siege."""
    before, now = dict(_figures(base)), dict(_figures(siege))
    for name in now:
        yield name, before.get(name, ""), now[name]


def _figures(one: Figures) -> Iterator[tuple[str, str]]:
    for pair, pings in one.pings.items():
        yield f"pings {pair}: lost", f"{pings.lost} of {pings.sent}"
        yield f"pings {pair}: p99, ms", f"{pings.p99_ms:.1f}"
    for name, calls in one.calls.items():
        yield f"requests of {name}: failed", f"{calls.failed} of {calls.sent}"
        yield f"requests of {name}: p50, p99, longest, ms", _times(calls)
    yield "joins and leaves: p50, p99, longest, ms", _times(one.joins)
    yield "events and leases of good will: missing", f"{len(one.missing) + len(one.unleased)} of {one.deeds}"
    yield "BGP sessions of good will that ended", str(len(one.resets))
    yield "events", str(sum(one.events.values()))
    yield "the database grew by, KiB", f"{one.database / 1024:.0f}"
    for name, gauge in one.gauges.items():
        if not name.endswith(CLIENTS):
            yield f"{name}: memory at most, MiB", f"{gauge.most_bytes / MIB:.0f}"
            yield f"{name}: of a core, %", f"{gauge.cpu_seconds / one.seconds * 100:.1f}"
    yield "load average at most", f"{one.load:.1f}"


def _times(calls: Calls) -> str:
    return ", ".join(f"{seconds * 1000:.0f}" for seconds in (calls.p50, calls.p99, calls.most))


def _did(attacks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, done in attacks.items():
        for what, times in sorted(done.items()):
            yield f"| {name} | {what.replace('|', '/')} | {times} |"


def _events(events: Mapping[str, int]) -> str:
    return ", ".join(f"{count} `{type}`" for type, count in events.items()) or "none"


def _machine() -> str:
    return f"{os.cpu_count()} cores, Linux {platform.release()}, {datetime.now(UTC):%Y-%m-%d}"
