"""How messages name what stands in a file, and what somebody may have meant."""

import difflib
from collections.abc import Collection

LONGEST = 70
MANY = 1000
"""Among more words than this no close one is looked for, unless somebody asks for it: it takes milliseconds."""


def show(value: object) -> str:
    """A value as a message names it, never long."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"'{_short(value)}'"
    return _short(str(value))


def closest(word: object, known: Collection[str], many: int = MANY) -> tuple[str, str]:
    """The end of a sentence about an unknown word, and the known one it is close to (empty: none is)."""
    text = str(word)
    if len(text) <= LONGEST and len(known) <= many and (close := difflib.get_close_matches(text, known, n=1)):
        return f": did you mean '{close[0]}'?", close[0]
    return (f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= 12 else ""), ""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
