"""YAML text as plain data plus the place of every key and value. The only file that imports yaml (PyYAML over libyaml),
except a database migration.

One pass over the parser's events, with YAML 1.2's core schema for the type of a plain word (`yes` is text, `010` is
ten). Anchors, aliases, tags and further documents are refused: a document has no use for them, and aliases turn small
files into enormous ones. Every refusal is a DocumentInvalid with its place."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import yaml

from controller.core.yaml_document.errors import MAX_ERRORS, DocumentError, DocumentInvalid
from controller.core.yaml_document.grammar import Mark, explain

MAX_DEPTH = 16
MAX_KEY = 200
TOP = Mark(1, 1)


@dataclass(frozen=True)
class Limits:
    """The most characters and values of a document."""

    characters: int = 1024 * 1024
    values: int = 100_000


DEFAULT = Limits()
Path = tuple[str | int, ...]
Place = tuple[int, int]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, seven times as fast as the same parser in Python, which is used where libyaml is not installed."""

UNPRINTABLE = re.compile("[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""A character that no document can have."""

_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,300}|[0-9]{1,300}(\.[0-9]{0,300})?)([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Document:
    """`data` is made of dict, list, str, int, float (finite), bool and None. `values` and `keys` give line and column,
    from 1, of the value and the key at a path; a key's path ends with the key."""

    data: object
    values: Mapping[Path, Place]
    keys: Mapping[Path, Place]

    def place(self, path: Path) -> Place:
        """Return the place of the value at `path`, or of the nearest thing around it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values[path]

    def place_of_key(self, path: Path) -> Place:
        """Return the place of the key of `path`, or of the nearest thing around it."""
        while path and path not in self.keys and path not in self.values:
            path = path[:-1]
        return self.keys[path] if path in self.keys else self.values[path]


def field_name(path: Path) -> str:
    """Return the path in the form `vcps.blue.members[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def read(
    text: str,
    file: str,
    invalid: type[DocumentInvalid] = DocumentInvalid,
    begins: str = "",
    limits: Limits = DEFAULT,
) -> Document:
    """Return the document in `text`; `begins` is how such documents begin. Raises `invalid`."""
    if len(text) > limits.characters:
        raise invalid([DocumentError(file, 1, 1, "", f"longer than {limits.characters} characters")])
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if bad := UNPRINTABLE.search(text):
        line, column = text.count("\n", 0, bad.start()) + 1, bad.start() - text.rfind("\n", 0, bad.start())
        raise invalid([DocumentError(file, line, column, "", f"not YAML: the character {bad[0]!r} is not allowed")])
    reader = _Reader(text, file, invalid, limits.values)
    try:
        data = reader.document(begins)
    except DocumentInvalid:
        raise
    except yaml.MarkedYAMLError as error:
        at, began = (_mark(mark) for mark in (error.problem_mark, error.context_mark))
        place, message = explain(text, error.problem or "", error.context or "", at or began or TOP, began or at or TOP)
        reader.errors.append(DocumentError(file, *place, "", f"not YAML: {message}"))
    except (yaml.YAMLError, ValueError) as error:
        reader.errors.append(DocumentError(file, *TOP, "", f"not YAML: {error}"))
    if reader.errors:
        raise invalid(reader.errors)
    return Document(data, reader.values, reader.keys)


class _Reader:
    """The reader that builds the data from the events, and stops when a file becomes too deep or too large."""

    def __init__(self, text: str, file: str, invalid: type[DocumentInvalid], most: int) -> None:
        self.file, self.invalid, self.most = file, invalid, most
        self.values: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.errors: list[DocumentError] = []
        self.events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)

    def document(self, begins: str) -> object:
        next(self.events)  # the stream's start
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            self.refuse(TOP, (), f"empty: it begins with '{begins}'" if begins else "empty")
            return None
        data = self.value(next(self.events), ())
        next(self.events)  # the document's end
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            self.refuse(_place(event), (), "a second document: a file holds one")
        return data

    def value(self, event: Any, path: Path) -> object:
        here = _place(event)
        if isinstance(event, yaml.AliasEvent):
            self.refuse(here, path, f"the alias '*{event.anchor}' is not allowed: write the value out")
            return None
        if event.anchor is not None:
            self.refuse(here, path, f"the anchor '&{event.anchor}' is not allowed: write the value out")
        if event.tag is not None:
            self.refuse(here, path, f"the tag '{event.tag}' is not allowed")
        if isinstance(event, yaml.ScalarEvent):
            if event.style == '"' and (bad := UNPRINTABLE.search(event.value)):
                self.refuse(here, path, f"the character {bad[0]!r} is not allowed, nor its escape")
            # The place of an empty value is of no use; the place of its key is reported instead.
            self.values[path] = self.keys.get(path, here) if event.value == "" else here
            return _scalar(event.value) if event.implicit[0] else event.value
        self.values[path] = here
        if len(path) >= MAX_DEPTH:
            self.stop(here, f"nested deeper than {MAX_DEPTH} levels")
        if len(self.values) > self.most:
            self.stop(here, f"more than {self.most} values")
        return self.mapping(path) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path)

    def sequence(self, path: Path) -> list[object]:
        data: list[object] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            if len(self.values) > self.most:
                self.stop(_place(event), f"more than {self.most} values")
            data.append(self.value(event, (*path, len(data))))
        return data

    def mapping(self, path: Path) -> dict[str, object]:
        data: dict[str, object] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            place = _place(event)
            if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag or len(event.value) > MAX_KEY:
                self.refuse(place, path, f"a key must be a plain word of at most {MAX_KEY} characters")
                self.value(event, (*path, "?"))
                self.value(next(self.events), (*path, "?"))
                continue
            here = (*path, event.value)
            if event.value in data:
                first = self.keys[here][0]
                self.refuse(place, here, f"the key '{event.value}' is here a second time: the first is on line {first}")
                self.value(next(self.events), (*path, "?"))
                continue
            if len(self.values) > self.most:
                self.stop(place, f"more than {self.most} values")
            self.keys[here] = place
            data[event.value] = self.value(next(self.events), here)
        return data

    def refuse(self, place: Place, path: Path, message: str) -> None:
        self.errors.append(DocumentError(self.file, *place, field_name(path), message))
        if len(self.errors) >= MAX_ERRORS:
            raise self.invalid(self.errors)

    def stop(self, place: Place, message: str) -> None:
        self.refuse(place, (), message)
        raise self.invalid(self.errors)


def _place(event: Any) -> Place:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _mark(mark: Any) -> Mark | None:
    return None if mark is None else Mark(mark.line + 1, mark.column + 1)


def _scalar(text: str) -> object:
    """Return the value of a plain word. Values of other types are distinct from text, so that a name written as `10`
    differs from '10'. Infinite numbers and those of absurd length stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and isfinite(number := float(text)):
            return number
    return text
