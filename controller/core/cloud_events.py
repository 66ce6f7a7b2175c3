"""Events in the form that other systems read: CloudEvents 1.0, in JSON with all attributes in the body (section 3.2 of
its HTTP binding). Pure."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

MEDIA_TYPE = "application/cloudevents+json; charset=utf-8"

PREFIX = "weft."
"""The beginning of each type, before the event's own: `weft.move-done`."""


def source(asn: int) -> str:
    """Return the name of a region as the source of events. Together with an event's id it is unique."""
    return f"/weft/as{asn}"


def identity(number: int, at: datetime) -> str:
    """Return an event's id, the same at each attempt. It contains the time because a restored database gives out its
    numbers again."""
    return f"{number}-{round(at.timestamp() * 1_000_000):x}"


def cloud_event(source: str, identity: str, number: int | None, event: Mapping[str, Any]) -> bytes:
    """Return an event's document. `event` has the fields that the REST API shows. `number` gives the extension
    `sequence`, which sorts as text; an event outside of the event log has none."""
    document = {
        "specversion": "1.0",
        "id": identity,
        "source": source,
        "type": PREFIX + event["type"],
        "time": _time(event["at"]),
        "datacontenttype": "application/json",
    }
    if event["subject"]:
        document["subject"] = event["subject"]
    if number is not None:
        document["sequence"] = f"{number:019d}"
    return json.dumps({**document, "data": {**event, "at": _time(event["at"])}}, ensure_ascii=True).encode()


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
