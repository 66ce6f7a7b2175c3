"""Receivers of webhooks that get no events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind

PATIENCE = timedelta(minutes=10)
"""The time for which a receiver may fail before it is named: as long as a restart or an update of it takes."""


@dataclass(frozen=True)
class Receiver:
    """A receiver that has failed since a time, for a reason; `paused` is why it is paused."""

    name: str
    failing_since: datetime | None
    error: str
    paused: str | None = None


def compare_webhooks(receivers: Iterable[Receiver], now: datetime) -> Iterator[Difference]:
    """Yield each receiver that is paused, and each that has failed for PATIENCE."""
    for one in sorted(receivers, key=lambda one: one.name):
        if one.paused is not None:
            text = f"The webhook {one.name} is paused: {one.paused}."
            yield Difference(DifferenceKind.WEBHOOK_PAUSED, "webhooks", one.name, "active", "paused", text)
        elif one.failing_since is not None and now - one.failing_since >= PATIENCE:
            text = f"The webhook {one.name} has failed since {one.failing_since:%Y-%m-%dT%H:%M:%SZ}: {one.error}."
            yield Difference(DifferenceKind.WEBHOOK_FAILING, "webhooks", one.name, "events are taken", one.error, text)
