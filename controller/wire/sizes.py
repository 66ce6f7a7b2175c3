"""Sizes of memory and disks in readable form: with a unit, in powers of 1024."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def short(number: int) -> str:
    """Return the size as users write it, such as `512M`: in the largest unit of which it is a whole number."""
    for unit, power in reversed(UNITS.items()):
        if number >= 1 << power and not number % (1 << power):
            return f"{number >> power}{unit}"
    return f"{number} B"


@dataclass(frozen=True)
class Size:
    """The annotation of a number of bytes with bounds. Messages give the bounds with units."""

    least: int
    most: int
    step: int = 1

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Return a schema that checks the number, then its bounds."""
        from pydantic_core import core_schema  # commands read sizes without pydantic

        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        """Return the bounds as JSON schema."""
        bounds = {"minimum": self.least, "maximum": self.most, "description": "Bytes."}
        return handler(schema) | bounds | ({"multipleOf": self.step} if self.step > 1 else {})

    def check(self, number: int) -> int:
        """Return the number. Raises ValueError if it is no valid size."""
        if not self.least <= number <= self.most:
            raise ValueError(f"{short(number)} is not a size from {short(self.least)} to {short(self.most)}")
        if number % self.step:
            raise ValueError(f"{short(number)} is not a whole number of sectors of {short(self.step)}")
        return number
