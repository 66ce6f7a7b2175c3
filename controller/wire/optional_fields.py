"""The optional fields of a message. A reader refuses a message with an unknown field, so a field of a newer release has
a default and is sent only where it is used; an agent reports which ones it knows."""

from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel


def optional(model: type[BaseModel], path: str) -> Iterator[str]:
    """Yield the paths of all optional fields of a model and of the models in it: `desired.endpoints.prefix6`."""
    for name, field in model.model_fields.items():
        at = f"{path}.{name}"
        if not field.is_required():
            yield at
        for inner in _models(field.annotation):
            yield from optional(inner, at)


def used(message: BaseModel, path: str) -> set[str]:
    """Return the paths of the optional fields that a message and those in it use: that have another value than their
    default."""
    found = set()
    for name, field in type(message).model_fields.items():
        at, value = f"{path}.{name}", getattr(message, name)
        if not field.is_required() and value != field.get_default(call_default_factory=True):
            found.add(at)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, BaseModel):
                found |= used(inner, at)
    return found


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
