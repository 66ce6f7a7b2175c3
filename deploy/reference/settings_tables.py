"""Tables of settings, from their pydantic classes: key, type, unit, default and meaning of each."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from deploy.reference.markdown import code, table, text

HEAD = ("key", "type", "unit", "default", "meaning")

_NAMES: Mapping[Any, str] = {
    str: "text", int: "integer", float: "number", bool: "true or false", Path: "path", dict: "table", tuple: "list",
    list: "list",
}  # fmt: skip
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def settings_table(model: type[BaseModel], prefix: str = "") -> str:
    """Return the table of a class; the keys of environment variables are upper case, with a prefix. Raises ValueError
    for a setting without a description."""
    rows = []
    for name, info in model.model_fields.items():
        if prefix or not of_tables(info.annotation):
            rows.append(_row(f"{prefix}{name.upper()}" if prefix else name, info, model))
    return table(HEAD, rows)


def of_tables(annotation: Any) -> type[BaseModel] | None:
    """Return the class of a setting that is a table of further settings; None for any other."""
    found = (one for one in (annotation, *get_args(annotation)) if isinstance(one, type) and issubclass(one, BaseModel))
    return next(found, None)


def _row(key: str, info: FieldInfo, model: type[BaseModel]) -> Sequence[str]:
    if not info.description:
        raise ValueError(f"{model.__module__}.{model.__name__}: {key} has no description")
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    kind = f"{_kind(info.annotation)}{_bounds(info.metadata)}"
    return code(key), kind, str(extra.get("unit", "")), _default(info), text(" ".join(info.description.split()))


def _kind(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in (Union, UnionType):
        return ", ".join(_kind(one) for one in inner if one is not NoneType)
    if origin in (list, tuple):
        return f"list of {_kind(inner[0])}"
    if origin is Literal:
        return " or ".join(map(str, inner))
    if origin is dict:
        return f"table, of {_kind(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(str(one.value) for one in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "object"
    return _NAMES.get(annotation) or {"HttpUrl": "URL", "IPvAnyAddress": "IP address"}[annotation.__name__]


def _bounds(metadata: Sequence[Any]) -> str:
    found = [f"{sign} {getattr(one, name)}" for name, sign in _BOUNDS.items() for one in metadata if hasattr(one, name)]
    return f" {', '.join(found)}" if found else ""


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    if info.default_factory is not None:
        return ""  # made at each start; the description says how
    return _shown(info.get_default(call_default_factory=True, validated_data={}))


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return code(str(value).lower())
        case float() | int():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case list() | tuple():
            return ", ".join(_shown(one) for one in value)
        case dict():
            return ""
    return code(str(value))


def tables_of(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the settings of a class that are tables: their names, and their classes."""
    for name, info in model.model_fields.items():
        if (inner := of_tables(info.annotation)) is not None:
            yield name if get_origin(info.annotation) is not dict else f"{name}.NAME", inner
