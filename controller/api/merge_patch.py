"""Bodies of PATCH requests, with the semantics of a JSON merge patch (RFC 7396): a field that is absent stays, and null
returns it to its default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pydantic_core import CoreSchema, PydanticOmit, core_schema

from controller.api.types import Body


@dataclass(frozen=True)
class Fixed:
    """The annotation of a field that no request can change, and the reason. The API's description leaves it out."""

    why: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return a schema that refuses every value."""

        def refuse(_value: object) -> NoReturn:
            raise ValueError(f"cannot be changed: {self.why}")

        return core_schema.no_info_plain_validator_function(refuse)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Callable[[Any], Any]) -> NoReturn:
        """Leave the field out."""
        raise PydanticOmit


class MergePatch(Body):
    """A body whose fields are those to be changed. `DEFAULTS` are the values that null stands for, if not None."""

    DEFAULTS: ClassVar[Mapping[str, Any]] = {}

    def given(self) -> dict[str, Any]:
        """Return the new values of the fields that the request has."""
        values = {field: getattr(self, field) for field in sorted(self.model_fields_set)}
        return {field: self.DEFAULTS.get(field) if value is None else value for field, value in values.items()}


def merged(present: Mapping[str, str], patch: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return a mapping with a patch: null removes a key, and all of them in place of the patch."""
    if patch is None:
        return {}
    return {key: value for key, value in {**present, **patch}.items() if value is not None}
