"""Malformed answers: from a correct answer, everything that could stand in its place."""

import json
from collections.abc import Iterator
from typing import Any

OTHERS: tuple[Any, ...] = (None, True, 7, -1, 1e400, "", "x\x1b[2J\ud800", [], [None], {}, {"a": None})
"""Values that may stand in the place of another value."""

DEEP = "[" * 100_000


def garbled(good: Any) -> Iterator[Any]:
    """Yield variants of an answer with one wrong or missing part, on any level."""
    yield from OTHERS
    yield _nested(200)
    if isinstance(good, dict):
        for key, value in good.items():
            yield {k: v for k, v in good.items() if k != key}
            yield from ({**good, key: wrong} for wrong in garbled(value))
    elif isinstance(good, list):
        for at, value in enumerate(good):
            yield from ([*good[:at], wrong, *good[at + 1 :]] for wrong in garbled(value))


def garbled_texts(good: Any) -> Iterator[str]:
    """Yield texts of an answer: its malformed variants as JSON, the JSON cut off at every third character, and texts
    that are not JSON."""
    text = json.dumps(good)
    yield from (text[:end] for end in range(1, len(text), 3))
    yield from (DEEP, '{"a":' * 50_000, "9" * 5_000, "NaN", '"\ud800', "\0", text + text)
    yield from map(json.dumps, garbled(good))


def _nested(depth: int) -> Any:
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found
