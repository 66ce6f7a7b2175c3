"""Limits on depth, count and length of JSON, which are checked before it is parsed.

Each step here is one pass over the bytes (`replace`, `split`, `translate`, `count`), whatever they contain. A regular
expression that has to find the end of a text would start again at each quote of a text that has no end."""

from array import array
from itertools import accumulate

MAX_DEPTH = 32
MAX_VALUES = 400_000
"""Objects, arrays, and their elements."""
MAX_NUMBER = 100
"""Characters of a number: the largest of 64 bits has twenty."""

MAX_QUOTES = 4 * MAX_VALUES
"""Two for each text; a value is one text, and its name may be another."""

_OPEN, _CLOSE = b"[{", b"]}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_OPEN + _CLOSE))
_STEPS = bytes.maketrans(_OPEN + _CLOSE, b"\x01\x01\xff\xff")
_OF_NUMBERS = b"-+.0123456789eE"
_NUMBERS = bytes(byte if byte in _OF_NUMBERS else ord(" ") for byte in range(256))
_NO_NUMBERS = (b"NaN", b"Infinity")


def unfit(body: bytes) -> str | None:
    """Return why JSON must not be parsed, in a few words; None if it may be. Its parser decides whether it is JSON."""
    if b"\0" in body:  # UTF-16 and UTF-32, which Python would read; texts have it as \u0000
        return "is not UTF-8"
    if (bare := _without_texts(body)) is None:
        return f"has more than {MAX_VALUES} values"
    brackets = bare.translate(None, _NOT_BRACKETS)
    if max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > MAX_DEPTH:
        return f"is nested deeper than {MAX_DEPTH} levels"
    if len(brackets) // 2 + bare.count(b",") > MAX_VALUES:
        return f"has more than {MAX_VALUES} values"
    if max(map(len, bare.translate(_NUMBERS).split()), default=0) > MAX_NUMBER:
        return f"has a number of more than {MAX_NUMBER} characters"
    for name in _NO_NUMBERS:
        if name in bare:
            return f"has {name.decode()} for a number, which JSON has not (RFC 8259, section 6)"
    return None


def _without_texts(body: bytes) -> bytes | None:
    """Return the bytes outside of texts; None if there are too many texts. An escape outside of a text, which every
    parser rejects, may hide the characters after it, and only those."""
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if plain.count(b'"') > MAX_QUOTES:
        return None
    return b"".join(plain.split(b'"')[::2])
