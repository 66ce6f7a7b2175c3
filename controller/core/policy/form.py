"""The form of a policy: `policies/schema.json`, told in sentences. The only file that imports jsonschema here."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path as FilePath
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError

from controller.core.policy.document import Document, Path, Place, field_name, read
from controller.core.policy.errors import PolicyError, PolicyInvalid
from controller.wire.flavours import Flavour

SCHEMA = FilePath(__file__).parents[3] / "policies" / "schema.json"
KINDS = {"object": "a mapping", "array": "a list", "string": "text"}


@dataclass(frozen=True)
class PolicyVcp:
    """A pool as the policy wants it; `members` in the order of the file."""

    name: str
    flavour: Flavour
    description: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Policy:
    """A policy whose form is right; whether the names exist is for `plan` to say."""

    file: str
    vcps: tuple[PolicyVcp, ...]
    places: Mapping[Path, Place] = field(default_factory=dict, compare=False, repr=False)

    def error(self, path: Path, message: str) -> PolicyError:
        """An error about what stands at `path`."""
        line, column = self.places.get(path, (1, 1))
        return PolicyError(self.file, line, column, field_name(path), message)


def parse(text: str, filename: str) -> Policy:
    """The policy in `text`; `filename` is for messages only. Raises PolicyInvalid with every error."""
    document = read(text, filename)
    errors = [
        PolicyError(filename, *place, field_name(path), message)
        for error in _validator().iter_errors(document.data)
        for path, place, message in _explain(error, document)
    ]
    if errors:
        raise PolicyInvalid(errors)
    data = cast(dict[str, dict[str, dict[str, Any]]], document.data)
    vcps = (
        PolicyVcp(name, Flavour(vcp.get("flavour", "vpls")), vcp.get("description", ""), tuple(vcp["members"]))
        for name, vcp in data["vcps"].items()
    )
    return Policy(filename, tuple(sorted(vcps, key=lambda vcp: vcp.name)), {**document.values, **_key_places(document)})


def _key_places(document: Document) -> dict[Path, Place]:
    """A pool's own place is where its name stands."""
    return {path: place for path, place in document.keys.items() if len(path) == 2}


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(SCHEMA.read_text()))


def _explain(error: ValidationError, document: Document) -> Iterator[tuple[Path, Place, str]]:
    """One JSON Schema error as places and sentences. `validator` is the keyword that failed."""
    path: Path = tuple(error.absolute_path)
    value: Any = error.instance
    wanted, schema = cast(Any, error.validator_value), cast(Any, error.schema)
    place = document.place(path)
    name = field_name(path) or "a policy"
    match error.validator:
        case "additionalProperties":
            known = sorted(schema["properties"])
            for key in sorted(set(value) - set(known)):
                here = (*path, key)
                yield here, document.keys[here], f"unknown key '{key}'{_suggest(key, known)}"
        case "required":
            for key in sorted(set(wanted) - set(value)):
                yield (*path, key), document.keys.get(path, place), f"{name} lacks the key '{key}'"
        case "const":
            yield path, place, f"{name} must be '{wanted}', not {_show(value)}"
        case "enum":
            yield path, place, f"{name} must be {' or '.join(wanted)}, not {_show(value)}{_suggest(value, wanted)}"
        case "uniqueItems":
            yield from _repeated(path, value, document)
        case "pattern" if "propertyNames" in error.absolute_schema_path:
            here = (*path, value)
            yield here, document.keys[here], f"{_show(value)} is no name: {schema['description']}"
        case "pattern":
            yield path, place, f"{_show(value)} is no name: {schema['description']}"
        case "maxLength":
            yield path, place, f"{name} is {len(value)} characters long; {wanted} are allowed"
        case "type":
            hint = f"; write it in quotes: '{value}'" if wanted == "string" and isinstance(value, int | float) else ""
            yield path, place, f"{name} must be {KINDS[wanted]}, not {_show(value)}{hint}"
        case _:
            yield path, place, f"{name}: {error.message}"


def _repeated(path: Path, items: list[object], document: Document) -> Iterator[tuple[Path, Place, str]]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        written = json.dumps(item, sort_keys=True)
        if written in seen:
            yield (*path, i), document.place((*path, i)), f"{_show(item)} is in the list already"
        seen.add(written)


def _suggest(word: object, known: list[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f": did you mean '{close[0]}'?" if close else f"; known are {', '.join(known)}"


def _show(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"'{value if len(value) <= 70 else value[:67] + '...'}'"
    return str(value).lower() if isinstance(value, bool) else str(value)
