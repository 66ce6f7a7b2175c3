"""How messages name what stands in a file or a request, and what somebody may have meant. Pure."""

import difflib
from collections.abc import Collection
from itertools import islice

LONGEST = 70
MANY = 1000
"""Among more words than this no near one is looked for, unless somebody asks for it: it takes milliseconds."""

SHORTEST = 2
"""Characters of a prefix that says anything of what follows it."""


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


def near(word: object, known: Collection[str], many: int = MANY) -> str:
    """The known word that is nearest to an unknown one, empty if none is near. A word is near another that it begins,
    and most of all one whose first part it is: `c1` is near `c1-lan`, and `c1-lan` near `c1`."""
    text = str(word)
    if len(text) > LONGEST or len(known) > many:
        return ""
    longer = [one for one in known if one.startswith(f"{text}-")]
    if not longer and (close := difflib.get_close_matches(text, known, n=1)):
        return close[0]
    prefixes = longer or [one for one in known if _begins(text, one) or _begins(one, text)]
    return min(prefixes, key=lambda one: (abs(len(one) - len(text)), one), default="")


def few(word: str, known: Collection[str]) -> Collection[str]:
    """Of very many words those that may be near: they begin as this one does, up to its last letters. For a question
    that is asked once, since it looks at all of them."""
    if len(known) <= MANY:
        return known
    begin = word[:-2] if len(word) > 2 + SHORTEST else word
    return list(islice((one for one in known if one.startswith(begin) or _begins(one, word)), MANY))


def meant(word: object, known: Collection[str], many: int = MANY) -> str:
    """The end of a sentence about an unknown word: the one that is near, if there is one."""
    close = near(word, known, many)
    return f": did you mean '{close}'?" if close else ""


def closest(word: object, known: Collection[str], many: int = MANY) -> tuple[str, str]:
    """The end of a sentence about an unknown word, and the known one that is near (empty: none is). Where none is, and
    there are few, the sentence names all."""
    if close := near(word, known, many):
        return f": did you mean '{close}'?", close
    return (f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= 12 else ""), ""


def _begins(prefix: str, word: str) -> bool:
    return len(prefix) >= SHORTEST and word.startswith(prefix)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
