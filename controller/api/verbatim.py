"""JSON of a route server that an answer passes on as it is. The description shows its type; nothing parses it, because
a route server of another release may send more fields or fewer, and a parsed time would lose its nanoseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, TypeVar

from pydantic import GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import definitions_schema

Json = dict[str, Any]

T = TypeVar("T")


@dataclass(frozen=True)
class DescribedAs:
    """An annotation of `Json`: the description shows the schema of this type instead."""

    type: Any

    def __get_pydantic_json_schema__(self, _core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema for pydantic, by reference to the type's own."""
        return handler(definitions_schema(TypeAdapter(self.type).core_schema, []))  # a bare one would be inlined


def continuing(base: type[Any]) -> Callable[[type[T]], type[T]]:
    """Return a decorator that puts the docstring of a base before that of a class: the description shows only the
    class's own."""

    def put_before(derived: type[T]) -> type[T]:
        derived.__doc__ = f"{cleandoc(base.__doc__ or '')} {cleandoc(derived.__doc__ or '')}"
        return derived

    return put_before
