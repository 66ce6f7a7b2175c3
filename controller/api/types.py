"""Values that several nouns share, with their schema and an example."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from controller.core.macs import EXAMPLE, mac_of
from controller.wire.names import CLIENT_ID_PATTERN, NAME_PATTERN

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=63, description="A DNS label, lower case.")]
NamePath = Annotated[str, Path(pattern=NAME_PATTERN, max_length=63, description="A DNS label, lower case.")]
Wanted = Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A text to search a list for."""
IdPath = Annotated[int, Path(ge=1, le=2**63 - 1)]
Mac = Annotated[
    str,
    Field(max_length=40, description="An interface's MAC, in any form that vendors write.", examples=[EXAMPLE]),
    AfterValidator(mac_of),
]
ClientId = Annotated[str, Field(pattern=CLIENT_ID_PATTERN, description="DHCP option 61 as lower-case hex.")]
Text = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


def utc(moment: datetime) -> datetime:
    """Return the moment in UTC; a moment without a time zone is in UTC. Raises ValueError outside the years that UTC
    has."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("outside the years 1 to 9999 in UTC") from None


Moment = Annotated[datetime, AfterValidator(utc)]
"""A time, in UTC unless it has another time zone."""


class Body(BaseModel):
    """A request body. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid")
