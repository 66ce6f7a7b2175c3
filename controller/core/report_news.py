"""The events of an agent's report: news that the report before it did not have. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controller.wire.reports import Report


@dataclass(frozen=True)
class News:
    """An event about the cloudlet: its type, a sentence, and its data."""

    type: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


def news(before: Report | None, report: Report) -> Iterator[News]:
    """Yield the events that a report brings. `before` is None for the first one that a controller gets."""
    yield from _gaps(before, report)
    yield from _duplicates(before, report)


def _gaps(before: Report | None, report: Report) -> Iterator[News]:
    """Yield the past times without the agent's nftables rules, with their length."""
    told = before.findings if before is not None else []
    for finding in report.findings:
        if finding.kind == "rules-gone" and finding.milliseconds is not None and finding not in told:
            yield News("rules-gone", f"{report.cloudlet}: {finding.text}", {"milliseconds": finding.milliseconds})


def _duplicates(before: Report | None, report: Report) -> Iterator[News]:
    """Yield the MACs that are now at two places of a LAN."""
    told = before.findings if before is not None else []
    for finding in report.findings:
        if finding.kind == "mac-duplicate" and finding not in told:
            data = {"mac": finding.subject, "endpoint": finding.endpoint, "places": finding.found}
            yield News("mac-duplicate", f"{report.cloudlet}: {finding.text}", data)
