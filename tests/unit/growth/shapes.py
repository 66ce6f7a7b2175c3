"""The texts that cost an expression most, derived from its own parts. Pure.

Backtracking makes an expression expensive: a repeated part matches many times, and then comes a character with which
the whole fails. So each shape is a text that leads up to a repeated part, many words that this part matches, and an
end.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice, product
from typing import Any

_parser: Any = import_module("re._parser")  # CPython's own reading of an expression; sre_parse until 3.10
_compiler: Any = import_module("re._compiler")

_USUAL = 'a0 \n"\\!-.:A_/\0'
_WORDS = 5  # for one part
_ENDS = 2
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_SETS = ("IN", "ANY", "NOT_LITERAL", "CATEGORY", "RANGE")


@dataclass(frozen=True)
class Shape:
    """A text of any length: `before`, `again` as often as it fits, `after`."""

    before: str
    again: str
    after: str

    def text(self, size: int) -> str:
        """Return the text of about that many characters."""
        return self.before + self.again * max(1, size // len(self.again)) + self.after


def shapes(pattern: "re.Pattern[Any]") -> list[Shape]:
    """Return the worst shapes for an expression; empty if nothing in it repeats and no text leads up to a part."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    parts = _parser.parse(source, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)
    of = _Parts(parts)
    found: dict[Shape, None] = {}
    for before, body in of.repeated(parts, ""):
        words = of.words(body)
        for word in words:
            for start, again in ((before, word), ("", word), ("", before + word), (before, word + words[0])):
                found |= {Shape(start, again, end): None for end in of.ends(body) if again}
    for word in of.words(parts):
        found |= {Shape("", word[:length], end): None for length in range(1, len(word) + 1) for end in of.ends(parts)}
    for char in of.interest[:_WORDS]:
        found |= {Shape("", char, end): None for end in of.ends(parts)}
    return list(found)


class _Parts:
    def __init__(self, parts: Any) -> None:
        self._state = parts.state
        literals = dict.fromkeys(_literals(parts))
        self.interest = [*literals, *(char for char in _USUAL if char not in literals)]

    def repeated(self, parts: Iterable[Any], before: str) -> Iterator[tuple[str, list[Any]]]:
        """Yield each repeated part, with the shortest text that leads up to it."""
        for part in parts:
            name, argument = str(part[0]), part[1]
            for body in _bodies(name, argument):
                if name in _REPEATS and argument[1] > 1:
                    yield before, list(body)
                yield from self.repeated(body, before)
            before += self._of(part)[0]

    def words(self, parts: Iterable[Any]) -> list[str]:
        """Return some texts that the parts match one after the other, the shortest first."""
        ways = product(*(self._of(part) for part in parts))
        return list(dict.fromkeys("".join(way) for way in islice(ways, _WORDS)))

    def ends(self, body: Any) -> list[str]:
        """Return an empty end, and some characters that the repeated part does not match."""
        one = self._compiled(body)
        return ["", *islice((char for char in self.interest if not one.fullmatch(char)), _ENDS)]

    def _of(self, part: Any) -> list[str]:
        name, argument = str(part[0]), part[1]
        if name == "LITERAL":
            return [chr(argument)]
        if name in _SETS:
            return self._admitted(part) or [""]
        if name in _REPEATS:
            least, most, body = argument
            words = self.words(body)
            return [word * least for word in words] + [word * (least + 1) for word in words if most > least]
        if name in ("ASSERT", "ASSERT_NOT"):
            return [""]
        return [word for body in _bodies(name, argument) for word in self.words(body)] or [""]

    def _admitted(self, part: Any) -> list[str]:
        one = self._compiled([part])
        return [char for char in self.interest if one.fullmatch(char)][:_WORDS]

    def _compiled(self, parts: Iterable[Any]) -> "re.Pattern[str]":
        made: re.Pattern[str] = _compiler.compile(_parser.SubPattern(self._state, list(parts)), self._state.flags)
        return made


def _bodies(name: str, argument: Any) -> list[Any]:
    """Return the parts inside of a part."""
    if name in _REPEATS:
        return [argument[2]]
    if name == "SUBPATTERN":
        return [argument[3]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    return [argument] if name == "ATOMIC_GROUP" else []


def _literals(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        name, argument = str(part[0]), part[1]
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(argument)
        elif name == "RANGE":
            yield from map(chr, argument)
        elif name == "IN":
            yield from _literals(argument)
        for body in _bodies(name, argument):
            yield from _literals(body)
