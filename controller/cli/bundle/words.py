"""Judges words: a bundle has only words that are known to be no secrets. Pure."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from ipaddress import ip_address

from controller.cli.bundle.pseudonyms import Pseudonyms

HIDDEN = "…"
"""Stands for each word that is left out."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?(?::[0-9]{1,7})?", re.ASCII)
_RANDOM = re.compile(r"[a-z0-9]{24,}", re.ASCII)  # no name of a thing has so many in a row; keys and tokens have

_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?(?:Z|[+-]\d{2}:\d{2})?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,12}(?:\.\d{1,9})?(?:%|ms|s|min|h|d|B|[KMG]iB|kbit|Mbit)?", re.ASCII)
_RELEASE = re.compile(
    r"v?\d{1,4}(?:\.\d{1,9}){1,3}(?:[.~-]?(?:dev|rc|a|b|post)\d{0,9})?(?:\+g[0-9a-f]{7,12})?", re.ASCII
)
_TARGET = re.compile(r"(\d{1,10}):(\d{1,10})", re.ASCII)
_DEVICE = re.compile(r"(?:lan|vx|eth|md|veth|tap|br|bond|wv)\d{0,4}\*?|pw\d{1,3}\.\d{1,5}|v\d", re.ASCII)
_URL = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[0-9.]+)(:\d{1,5})?(?:/.*)?", re.ASCII)
_PORT = re.compile(r"\[?([0-9a-f:.]+)\]?:(\d{1,5})", re.ASCII)

_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_SPLIT = (re.compile(rf"([/:=|,+;()\[\]{{}}<>*?{_QUOTES}]+)"), re.compile(r"([-_.!]+)"))
"""The signs between the words of a compound, the wider ones first."""


@cache
def vocabulary() -> frozenset[str]:
    """Return the words of the project's own messages, of names of fields, and of the system's errors
    (`make vocabulary`)."""
    return frozenset(files("controller.cli.bundle").joinpath("vocabulary.txt").read_text().split()) | {"a", "i"}


class Words:
    """The words that may be in a bundle: the vocabulary, numbers, times, addresses, and the region's names, which are
    learned first. With pseudonyms, these replace names and addresses. `hidden` counts the words that were left out."""

    def __init__(self, pseudonyms: Pseudonyms | None = None) -> None:
        self._pseudonyms = pseudonyms
        self._names: dict[str, str] = {}  # each name, and what stands for it
        self.hidden = 0

    def learn(self, kind: str, name: object) -> None:
        """Learn a name of the region's. A text that is none by its form is not learned."""
        if not isinstance(name, str) or name in self._names or _RANDOM.search(name):
            return
        if (_HOST if kind == "replica" else _NAME).fullmatch(name):
            self._names[name] = self._pseudonyms.name(kind, name) if self._pseudonyms is not None else name

    def name(self, text: str) -> str | None:
        """Return what stands for a name, or None if it is not known."""
        return self._names.get(text)

    def asn(self, number: int) -> int:
        """Return what stands for an AS number."""
        return self._pseudonyms.asn(number) if self._pseudonyms is not None else number

    def text(self, text: str) -> str:
        """Return a text with HIDDEN for each word that is not known."""
        return "".join(part if part.isspace() else self._word(part, 0) for part in re.split(r"(\s+)", text) if part)

    def _word(self, word: str, level: int) -> str:
        """Return what stands for a word; at each level it is taken apart at other signs."""
        found = self._whole(word)
        if found is None and level == 0:
            found = self._between(word)
        if found is not None:
            return found
        if level == len(_SPLIT) or (level == 0 and ("@" in word or "://" in word)):
            self.hidden += 1
            return HIDDEN
        parts = _SPLIT[level].split(word)
        said = [p if i % 2 else self._word(p, level + 1) if p else "" for i, p in enumerate(parts)]
        return HIDDEN if level > 0 and HIDDEN in said else "".join(said)

    def _between(self, word: str) -> str | None:
        """Return a word that is known as a whole but for the signs around it, such as an address in brackets."""
        core = word.strip("()[]{}<>,;:.!?" + _QUOTES)
        found = self._whole(core) if core and core != word else None
        return None if found is None else word.replace(core, found, 1)

    def _whole(self, word: str) -> str | None:
        if (name := self._names.get(word)) is not None:
            return name
        if word.lower() in vocabulary():
            return word
        return next((found for judge in self._judges() if (found := judge(word)) is not None), None)

    def _judges(self) -> Iterator[Callable[[str], str | None]]:
        yield self._address  # before releases, which may have four numbers, too
        yield self._mac
        yield self._target
        yield self._url
        yield self._plain

    @staticmethod
    def _plain(word: str) -> str | None:
        forms = (_NUMBER, _TIME, _RELEASE, _DEVICE)
        return word if word == HIDDEN or any(form.fullmatch(word) for form in forms) else None

    def _target(self, word: str) -> str | None:
        """Judge a route target or distinguisher, which begins with an AS number."""
        if (found := _TARGET.fullmatch(word)) is None:
            return None
        return f"{self.asn(int(found[1]))}:{found[2]}"

    def _address(self, word: str) -> str | None:
        address, slash, length = word.partition("/")
        if "%" in address:  # a zone (RFC 4007) may be any text
            return None
        try:
            found = ip_address(address)
            bits = int(length) if slash else None
        except ValueError:
            return self._with_port(word)
        if bits is not None and not (length.isascii() and length.isdecimal() and bits <= found.max_prefixlen):
            return None
        if self._pseudonyms is None:
            return f"{found}{slash}{length}"
        return str(self._pseudonyms.address(found)) if bits is None else self._pseudonyms.prefix(found, bits)

    def _with_port(self, word: str) -> str | None:
        found = _PORT.fullmatch(word)
        if found is None or (address := self._address(found[1])) is None:
            return None
        return f"[{address}]:{found[2]}" if ":" in address else f"{address}:{found[2]}"

    def _mac(self, word: str) -> str | None:
        if _MAC.fullmatch(word) is None:
            return None
        return self._pseudonyms.mac(word) if self._pseudonyms is not None else word

    def _url(self, word: str) -> str | None:
        """Judge a URL of an address, whose path is left out."""
        found = _URL.fullmatch(word)
        if found is None or (address := self._address(found[2].strip("[]"))) is None:
            return None
        return f"{found[1]}://{f'[{address}]' if ':' in address else address}{found[3] or ''}"
