"""Values and names in messages: how they are shown, and suggestions for misspelt ones. Pure."""

import difflib
from collections.abc import Collection
from itertools import islice

LONGEST = 70
MANY = 1000
"""Among more words than this no near one is looked for, unless the caller asks for it: it takes milliseconds."""

SHORTEST = 2
"""The fewest characters of a prefix that is compared."""


def show(value: object) -> str:
    """Return a value as a message names it, never long."""
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


def near(word: object, known: Collection[str], many: int = MANY) -> str:
    """Return the known word that is nearest to an unknown one, empty if none is near. A word is near another if one
    begins with the other, and nearest if it is the other's first part: `c1` is near `c1-lan`, and `c1-lan` near
    `c1`."""
    text = str(word)
    if len(text) > LONGEST or len(known) > many:
        return ""
    longer = [one for one in known if one.startswith(f"{text}-")]
    if not longer and (close := difflib.get_close_matches(text, known, n=1)):
        return close[0]
    prefixes = longer or [one for one in known if _begins(text, one) or _begins(one, text)]
    return min(prefixes, key=lambda one: (abs(len(one) - len(text)), one), default="")


def few(word: str, known: Collection[str]) -> Collection[str]:
    """Return, of very many words, those that may be near: they begin like this one, up to its last letters. For single
    lookups only, since it looks at all words."""
    if len(known) <= MANY:
        return known
    begin = word[:-2] if len(word) > 2 + SHORTEST else word
    return list(islice((one for one in known if one.startswith(begin) or _begins(one, word)), MANY))


def meant(word: object, known: Collection[str], many: int = MANY) -> str:
    """Return the end of a sentence about an unknown word: the near one, if there is one."""
    close = near(word, known, many)
    return f": did you mean '{close}'?" if close else ""


def closest(word: object, known: Collection[str], many: int = MANY) -> tuple[str, str]:
    """Return the end of a sentence about an unknown word, and the known one that is near (empty: none is). If none is
    near and there are few, the sentence names all."""
    if close := near(word, known, many):
        return f": did you mean '{close}'?", close
    return (f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= 12 else ""), ""


def _begins(prefix: str, word: str) -> bool:
    return len(prefix) >= SHORTEST and word.startswith(prefix)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
