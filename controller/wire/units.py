"""Types of numbers that carry their unit, which the reference of settings shows."""

from typing import Annotated

from pydantic import Field

Seconds = Annotated[float, Field(json_schema_extra={"unit": "seconds"})]

WholeSeconds = Annotated[int, Field(json_schema_extra={"unit": "seconds"})]

PerSecond = Annotated[float, Field(json_schema_extra={"unit": "per second"})]

Bytes = Annotated[int, Field(json_schema_extra={"unit": "bytes"})]
