"""YAML text as plain data plus the place of every key and value. The only file that imports ruamel.yaml.

Anchors, aliases, tags and further documents are refused: a policy has no use for them, and aliases make small files
of enormous documents. Every refusal is a PolicyInvalid with its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from controller.core.policy.errors import PolicyError, PolicyInvalid

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 16

Path = tuple[str | int, ...]
Place = tuple[int, int]


@dataclass(frozen=True)
class Document:
    """`data` is made of dict, list, str, int, float, bool and None. `values` and `keys` give line and column, from 1,
    of what stands at a path; a key's path ends with the key."""

    data: object
    values: Mapping[Path, Place]
    keys: Mapping[Path, Place]

    def place(self, path: Path) -> Place:
        """Where the value at `path` stands, or the nearest thing around it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values[path]


def field_name(path: Path) -> str:
    """`vcps.blue.members[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def read(text: str, file: str) -> Document:
    """The document in `text`. Raises PolicyInvalid."""
    if len(text) > MAX_CHARACTERS:
        raise PolicyInvalid([PolicyError(file, 1, 1, "", f"longer than {MAX_CHARACTERS} characters")])
    try:
        _refuse_unwanted(text, file)
        root = _yaml().compose(text)
        if root is None:
            raise PolicyInvalid([PolicyError(file, 1, 1, "", "empty: a policy begins with 'apiVersion: weft/v1'")])
        walk = _Walk(file)
        data = walk.value(root, ())
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = ", ".join(part for part in (error.problem, error.context) if part)
        raise PolicyInvalid([PolicyError(file, line, column, "", f"not YAML: {said}")]) from None
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - (before.rfind("\n") + 1) + 1
        raise PolicyInvalid(
            [PolicyError(file, line, column, "", f"not YAML: the character {error.character!r} is not allowed")]
        ) from None
    except (YAMLError, ValueError, IndexError, AssertionError, NotImplementedError) as error:
        if isinstance(error, PolicyInvalid):
            raise
        raise PolicyInvalid([PolicyError(file, 1, 1, "", f"not YAML: {error}")]) from None
    if walk.errors:
        raise PolicyInvalid(walk.errors)
    return Document(data, walk.values, walk.keys)


def _yaml() -> Any:
    return YAML(typ="safe", pure=True)


def _refuse_unwanted(text: str, file: str) -> None:
    """One pass over the parser's events, which needs neither recursion nor memory for what aliases stand for."""
    errors: list[PolicyError] = []
    depth = documents = 0

    def refuse(event: Any, message: str) -> None:
        errors.append(PolicyError(file, event.start_mark.line + 1, event.start_mark.column + 1, "", message))

    for event in _yaml().parse(text):
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            documents += 1
            if documents == 2:
                refuse(event, "a second document: a file holds one policy")
        elif kind == "AliasEvent":
            refuse(event, f"the alias '*{event.anchor}' is not allowed: write the value out")
        elif kind in ("ScalarEvent", "SequenceStartEvent", "MappingStartEvent"):
            if event.anchor is not None:
                refuse(event, f"the anchor '&{event.anchor}' is not allowed: write the value out")
            if event.tag is not None:
                refuse(event, f"the tag '{event.tag}' is not allowed")
        if kind.endswith("StartEvent") and kind[0] in "SM" and kind != "StreamStartEvent":
            depth += 1
            if depth > MAX_DEPTH:
                refuse(event, f"nested deeper than {MAX_DEPTH} levels")
                break
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            depth -= 1
    if errors:
        raise PolicyInvalid(errors)


class _Walk:
    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.errors: list[PolicyError] = []

    def value(self, node: Any, path: Path) -> object:
        # An empty value has no place of its own worth pointing at; its key has.
        self.values[path] = self.keys.get(path, _place(node)) if node.value == "" else _place(node)
        if node.id == "mapping":
            return self._mapping(node, path)
        if node.id == "sequence":
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        return _scalar(node)

    def _mapping(self, node: Any, path: Path) -> dict[str, object]:
        data: dict[str, object] = {}
        for key_node, value_node in node.value:
            line, column = _place(key_node)
            if key_node.id != "scalar":
                self._refuse(line, column, path, "a key must be a plain word")
                continue
            key = str(key_node.value)
            here = (*path, key)
            if key in data:
                first = self.keys[here][0]
                self._refuse(line, column, here, f"the key '{key}' is here a second time: the first is on line {first}")
                continue
            self.keys[here] = (line, column)
            data[key] = self.value(value_node, here)
        return data

    def _refuse(self, line: int, column: int, path: Path, message: str) -> None:
        self.errors.append(PolicyError(self.file, line, column, field_name(path), message))


def _place(node: Any) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _scalar(node: Any) -> object:
    """The value by YAML 1.2's core schema. What the schema does not call text is kept apart from text, so that a
    name written as `10` is told from '10'."""
    text = str(node.value)
    match str(node.tag).rsplit(":", 1)[-1]:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" | "float" | "timestamp":
            return _number(text)
    return text


def _number(text: str) -> object:
    try:
        return int(text, 10)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
