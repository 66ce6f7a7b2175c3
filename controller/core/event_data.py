"""The data of events, cut to a size; the cut data says what is left out. Pure."""

import json
from typing import Any

SIZE = 64 * 1024
"""The largest data, in bytes, of an event that the controller or an operator causes."""

FOREIGN = 4 * 1024
"""The same for a source outside of the controller."""

TEXT = 300
"""Characters of a text that are kept in data that is cut."""


def capped(data: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the data if its JSON has at most `most` bytes. Otherwise return as many of its values as fit, with texts
    and lists shortened; `cut` says what is left out."""
    size = _size(data)
    if size <= most:
        return data
    kept: dict[str, Any] = {"cut": f"this data had {size} bytes; at most {most} are kept"}
    room = most - _size(kept)
    for key, value in data.items():
        short = _short(value, room - len(key.encode()) * 6 - 8)
        if short is not None:
            room -= _size({key: short})
            kept[key] = short
    return kept


def _short(value: Any, room: int) -> Any:
    """Return the value or the part of it that fits; None if nothing does."""
    if isinstance(value, str) and len(value) > TEXT:
        value = f"{value[:TEXT]}… ({len(value) - TEXT} more characters)"
    if isinstance(value, list) and _size(value) > room:
        value = _some(value, room)
    return value if room > 0 and _size(value) <= room else None


def _some(items: list[Any], room: int) -> list[Any]:
    kept: list[Any] = []
    room -= 40
    for item in items:
        short = _short(item, room)
        if short is None:
            break
        room -= _size(short) + 2
        kept.append(short)
    return [*kept, f"… and {len(items) - len(kept)} more"] if len(kept) < len(items) else kept


def _size(value: Any) -> int:
    return len(json.dumps(value, default=str))
