"""The form of documents: violations of a schema in `policies/`, in sentences. The only file that imports jsonschema
here, and jsonschema_rs: the second checks whether anything is wrong, fifty times as fast, and the first finds what is.

`errorMessage` in the schema (which editors show too) is the end of the sentence if the name of the failed keyword would
not help an operator."""

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, cast

import jsonschema_rs
from jsonschema import Draft202012Validator, ValidationError, validators

from controller.core.words import closest, show
from controller.core.yaml_document.document import DEFAULT, Document, Limits, Path, field_name, read
from controller.core.yaml_document.errors import MAX_ERRORS, DocumentError, DocumentInvalid
from controller.core.yaml_document.levels import belongs, places_of

SCHEMAS = FilePath(__file__).parents[3] / "policies"
VERSION = "apiVersion"
"""The key that tells kinds of documents apart."""

KINDS = {"object": "a mapping", "array": "a list", "string": "text", "number": "a number", "integer": "a whole number"}
KINDS |= {"boolean": "true or false"}
KNOWN = {"weft/v1": ("a policy", "weft policy"), "weft/inventory/v1": ("an inventory", "weft inventory")}
KNOWN |= {"weft/netbox/v1": ("a mapping of a NetBox", "weft inventory import netbox --mapping")}
"""The kinds of documents by version, and the commands that take them."""

Finding = tuple[Path, bool, str, str]
"""The place, whether the key rather than the value is meant, the error, and a suggestion."""


class Form:
    """The form of one kind of document: what it is called, its schema's file, the refusal of such a document, and how
    large it may be."""

    def __init__(self, called: str, schema: str, invalid: type[DocumentInvalid], limits: Limits = DEFAULT) -> None:
        self.called, self.file, self.invalid, self.limits = called, schema, invalid, limits

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The schema."""
        return cast(dict[str, Any], json.loads((SCHEMAS / self.file).read_text()))

    @property
    def version(self) -> str:
        """The version of this form, with which its documents begin."""
        return cast(str, self.schema["properties"][VERSION]["const"])

    def read(self, text: str, file: str) -> Document:
        """Return the document in `text`. Raises this form's refusal if it is not YAML, or is of another kind."""
        document = read(text, file, self.invalid, f"{VERSION}: {self.version}", self.limits)
        if other := self._other(document):
            raise self.invalid([DocumentError(file, *document.place((VERSION,)), VERSION, other)])
        return document

    def violations(self, document: Document, file: str) -> list[DocumentError]:
        """Return all that the schema does not allow, up to MAX_ERRORS."""
        if self._right.is_valid(document.data):
            return []
        found = (finding for error in self._validator.iter_errors(document.data) for finding in self._explain(error))
        errors = []
        for path, at_key, message, suggestion in islice(found, MAX_ERRORS):
            place = document.place_of_key(path) if at_key else document.place(path)
            errors.append(DocumentError(file, *place, field_name(path), message, suggestion))
        return errors

    @cached_property
    def _right(self) -> Any:
        return jsonschema_rs.validator_for(self.schema)

    @cached_property
    def _validator(self) -> Any:
        extend: Any = validators.extend
        return extend(Draft202012Validator, {"uniqueItems": _unique})(self.schema)

    def _other(self, document: Document) -> str:
        """Return the error that a document is of another kind; empty if it is not."""
        version = document.data.get(VERSION) if isinstance(document.data, dict) else None
        noun = KNOWN.get(version) if isinstance(version, str) and version != self.version else None
        return f"this is {noun[0]}, not {self.called}: `{noun[1]}` takes it" if noun else ""

    def _explain(self, error: ValidationError) -> Iterator[Finding]:
        """Yield one JSON Schema error as places and sentences. `validator` is the keyword that failed."""
        path: Path = tuple(error.absolute_path)
        value: Any = error.instance
        wanted, own = cast(Any, error.validator_value), cast(Any, error.schema)
        name = field_name(path) or self.called
        said = own.get("errorMessage", "")
        match error.validator:
            case "additionalProperties":
                known = sorted(own["properties"])
                for key in sorted(set(value) - set(known)):
                    hint, suggestion = belongs(self.schema, key, known)
                    yield (*path, key), True, f"unknown key {show(key)}{hint}", suggestion
            case "required":
                for key in sorted(set(wanted) - set(value) - _meant(own, value)):
                    yield (*path, key), True, f"{name} lacks the key '{key}'", ""
            case "const":
                yield path, False, f"{name} must be '{wanted}', not {show(value)}", str(wanted)
            case "enum":
                hint, suggestion = closest(value, wanted)
                hint = hint if suggestion else ""
                yield path, False, f"{name} must be {' or '.join(wanted)}, not {show(value)}{hint}", suggestion
            case "uniqueItems":
                yield from _repeated(path, value)
            case "anyOf" if {each["required"][0] for each in wanted} & _meant(own, value):
                pass  # the error about the unknown key says it
            case "anyOf":
                yield (*path, wanted[0]["required"][0]), True, f"{name} {said}", ""
            case "oneOf":
                yield path, False, f"{name} {said}", ""
            case "pattern" if "propertyNames" in error.absolute_schema_path:
                yield (*path, value), True, f"{show(value)} {said}", ""
            case "pattern" if said.startswith("is not a"):
                yield path, False, f"{show(value)} {said}", ""
            case "pattern":
                yield path, False, f"{name} {said}, not {show(value)}", ""
            case "maxLength":
                yield path, False, f"{name} is {len(value)} characters long; {wanted} are allowed", ""
            case "maxItems" if not said:
                yield path, False, f"{name} has {len(value)} items; {wanted} are allowed", ""
            case "maxProperties":
                yield path, False, f"{name} has {len(value)} keys; {wanted} are allowed", ""
            case "minItems" | "minLength" if not value:
                yield path, False, f"{name} is empty: leave it out, or write something in it", ""
            case "minimum" | "maximum" | "exclusiveMinimum" if not said:
                yield path, False, f"{name} must be {_between(own)}, not {show(value)}", ""
            case "type" if (
                _named(error) and not isinstance(value, dict) and (places := places_of(self.schema, str(path[-1])))
            ):
                hint = f"'{path[-1]}' belongs below {' or '.join(places)}; is it indented wrongly?"
                yield path, True, f"{name} must be a mapping, not {show(value)}: {hint}", ""
            case "type":
                yield path, False, f"{name} {_kind(wanted, own, value)}", ""
            case _ if said:
                yield path, False, f"{name} {said}, not {show(value)}", ""
            case _:
                yield path, False, f"{name} is not as {self.file} says ({error.validator})", ""


def _unique(_validator: object, wanted: bool, items: object, _schema: object) -> Iterator[ValidationError]:
    """Check `uniqueItems` as the standard defines it, in linear time: the library compares all with all if types
    mix."""
    if wanted and isinstance(items, list) and next(_repeated((), items), None):
        yield ValidationError("items are not unique")


def _meant(own: dict[str, Any], value: dict[str, object]) -> set[str]:
    """Return the known keys that unknown ones probably stand for: a misspelt key is not reported as missing too."""
    known = own.get("properties", {})
    return {closest(key, known)[1] for key in value if key not in known}


def _named(error: ValidationError) -> bool:
    """Return whether the error is about a value under a name that the operator chose."""
    keywords = [part for part in error.absolute_schema_path if part != "$ref"]
    return len(keywords) > 1 and keywords[-2] == "additionalProperties" and error.validator_value == "object"


def _kind(wanted: str | list[str], own: dict[str, Any], value: object) -> str:
    """Return the expected type, the found value, and a hint at the reason."""
    kinds = [wanted] if isinstance(wanted, str) else wanted
    must = own.get("errorMessage", "")
    if not must.startswith("must"):
        must = f"must be {' or '.join(KINDS[kind] for kind in kinds)}"
    hint = ""
    if "string" in kinds and "integer" not in kinds and isinstance(value, bool | int | float):
        hint = f"; write it in quotes: '{show(value)}'"
    elif value is None and ("object" in kinds or "array" in kinds):
        empty = "{}" if "object" in kinds else "[]"
        hint = f": if it is empty, write {empty}; if not, what follows is indented too little"
    elif isinstance(value, list) and kinds == ["object"]:
        hint = ": write its keys without '- '"
    elif isinstance(value, str) and "array" in kinds:
        hint = f"; write it in brackets: [{value}]" if len(value) <= 70 else "; write it in brackets"
    return f"{must}, not {show(value)}{hint}"


def _between(own: dict[str, Any]) -> str:
    above, least, most = own.get("exclusiveMinimum"), own.get("minimum"), own.get("maximum")
    bounds = [f"more than {above}"] if above is not None else [f"at least {least}"] if least is not None else []
    return " and ".join(bounds + ([f"at most {most}"] if most is not None else []))


def _repeated(path: Path, items: list[object]) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        written = json.dumps(item, sort_keys=True)
        if written in seen:
            yield (*path, i), False, f"{show(item)} is in the list already", ""
        seen.add(written)
