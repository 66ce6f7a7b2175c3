"""Bodies that cost their reader much, or that it does not expect. Pure."""

import json
from collections.abc import Callable, Iterator
from itertools import cycle

Shape = Callable[[int], bytes]


def _filled(head: bytes, part: bytes, tail: bytes) -> Shape:
    return lambda size: head + part * ((size - len(head) - len(tail)) // len(part)) + tail


SHAPES: dict[str, Shape] = {
    "a text of escaped quotation marks without an end": _filled(b'{"cloudlet":"', b'\\"', b""),
    "a text of backslashes": _filled(b'{"cloudlet":"', b"\\\\", b'"}'),
    "lists in lists": _filled(b"", b"[", b""),
    "objects in objects": _filled(b"", b'{"a":', b"1"),
    "one number of many digits": _filled(b'{"version":', b"9", b"}"),
    "many numbers": _filled(b"[", b"0,", b"0]"),
    "many empty objects": _filled(b"[", b"{},", b"{}]"),
    "keys that repeat": _filled(b"{", b'"a":1,', b'"a":1}'),
    "numbers that are none": _filled(b"[", b"NaN,", b"Infinity]"),
    "numbers beyond all bounds": _filled(b"[", b"1e999,", b"-1e999]"),
    "lone surrogates": _filled(b'{"cloudlet":"', b"\\ud800", b'"}'),
    "no UTF-8": _filled(b'{"cloudlet":"', b"\xc3\x28\xff", b'"}'),
    "zeros": _filled(b"", b"\0", b""),
    "spaces": _filled(b"", b" ", b"x"),
    "no JSON": _filled(b"", b"<a b='c'>", b""),
}
"""Functions by name; each makes a body of about so many bytes."""


ODDITIES: tuple[object, ...] = (
    *(None, True, 0, -1, 2**63, 10**90, 1e308),
    *("", "x", "x\0y", "\u202e\x1b[31m", "\U0001f600" * 40),
    *([], [[]], [None] * 3, {}, {"": {}}),
)
"""Values of every kind, to put where another is expected."""


def twisted(message: dict[str, object]) -> Iterator[bytes]:
    """Yield the message with one field after the other replaced by an odd value or left out, without end."""
    fields = list(message)
    for field in cycle(fields):
        for odd in ODDITIES:
            yield json.dumps({**message, field: odd}).encode()
        yield json.dumps({name: value for name, value in message.items() if name != field}).encode()
        yield json.dumps({**message, f"{field}\x7f": 1}).encode()
