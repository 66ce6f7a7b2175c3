"""YAML documents that know where each value stands, checked against a JSON Schema. No other module of the lab imports
jsonschema.

Every complaint has the form `file:line:column: what is wrong (hint)`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from controller.core.words import near
from controller.core.yaml_document import document
from controller.core.yaml_document.errors import DocumentInvalid
from lab.errors import LabError

Where = Sequence[str | int]


class Document:
    """A YAML file, parsed in the same way as a policy. `value` is plain dicts and lists; `error` names a place in
    it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._read = document.read(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise LabError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
        except UnicodeDecodeError as error:
            raise LabError(f"{path}: not UTF-8 text (byte {error.start})") from None
        except DocumentInvalid as error:
            raise LabError(str(error.errors[0])) from None
        self.value: Any = self._read.data

    def error(self, where: Where, message: str, hint: str = "", *, key: bool = False) -> LabError:
        """Return an error. `where` is the path of keys and indexes to the wrong value (`key=True`: to its key)."""
        line, column = self._position(where, key)
        return LabError(f"{self.path}:{line}:{column}: {message}", hint)

    def validate(self, schema: Path) -> None:
        """Raise the first complaint in the order of the file."""
        found = Draft202012Validator(json.loads(schema.read_text())).iter_errors(self.value)
        errors = [self._complaint(error) for error in found]
        if errors:
            where, message, hint, key = min(errors, key=lambda e: self._position(e[0], e[3]))
            raise self.error(where, message, hint, key=key)

    def _position(self, where: Where, key: bool) -> tuple[int, int]:
        path = tuple(where)
        return self._read.place_of_key(path) if key else self._read.place(path)

    @staticmethod
    def _complaint(error: ValidationError) -> tuple[Where, str, str, bool]:
        where: Where = tuple(error.absolute_path)
        field = next((str(step) for step in reversed(where) if isinstance(step, str)), "the file")
        schema: dict[str, Any] = error.schema if isinstance(error.schema, dict) else {}
        described = str(schema.get("description", ""))
        instance: Any = error.instance
        wanted: Any = error.validator_value
        if error.validator == "additionalProperties":
            known = list(schema["properties"])
            unknown = next(key for key in instance if key not in known)
            close = near(unknown, known)
            hint = f"did you mean '{close}'?" if close else f"known here: {', '.join(known)}"
            return (*where, unknown), f"unknown field '{unknown}'", hint, True
        if error.validator == "required":
            missing = next(name for name in wanted if name not in instance)
            return where, f"'{missing}' is missing", "", False
        if error.validator == "type":
            return where, f"{field} must be of type {wanted}, not {instance!r}", described, False
        if error.validator == "enum":
            return where, f"{field} '{instance}' is unknown", f"one of: {', '.join(wanted)}", False
        return where, f"{field}: {error.message}", described, False
