"""How deep, how many and how long: what JSON may be like before anybody takes the trouble to read it."""

import re
from array import array
from itertools import accumulate

MAX_DEPTH = 32
MAX_VALUES = 400_000
"""Objects, arrays, and what is in them."""
MAX_NUMBER = 100
"""Characters of a number: the largest of 64 bits has twenty."""

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OPEN, _CLOSE = b"[{", b"]}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_OPEN + _CLOSE))
_STEPS = bytes.maketrans(_OPEN + _CLOSE, b"\x01\x01\xff\xff")
_NUMBER = re.compile(rb"[-+.0-9eE]{%d}" % (MAX_NUMBER + 1))
_NO_NUMBER = re.compile(rb"NaN|Infinity")


def unfit(body: bytes) -> str | None:
    """Why JSON is not to be read, in a few words; None if it may be. Whether it is JSON is for its reader to say."""
    if b"\0" in body:  # UTF-16 and UTF-32, which Python would read; texts say it as \u0000
        return "is not UTF-8"
    bare = _TEXT.sub(b"", body)
    brackets = bare.translate(None, _NOT_BRACKETS)
    if max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > MAX_DEPTH:
        return f"is nested deeper than {MAX_DEPTH} levels"
    if len(brackets) // 2 + bare.count(b",") > MAX_VALUES:
        return f"has more than {MAX_VALUES} values"
    if _NUMBER.search(bare):
        return f"has a number of more than {MAX_NUMBER} characters"
    if found := _NO_NUMBER.search(bare):
        return f"has {found[0].decode()} for a number, which JSON has not (RFC 8259, section 6)"
    return None
