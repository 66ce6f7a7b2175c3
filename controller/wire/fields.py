"""Types of fields that several messages share."""

from typing import Annotated

from pydantic import Field

from controller.wire.names import CLIENT_ID_PATTERN, MAC_PATTERN, NAME_PATTERN

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=63)]
"""A DNS label, lower case."""

Mac = Annotated[str, Field(pattern=MAC_PATTERN)]
"""A MAC address, such as `02:00:5e:00:00:01`."""

ClientId = Annotated[str, Field(pattern=CLIENT_ID_PATTERN)]
"""DHCP option 61 as lower-case hex."""

Address = Annotated[str, Field(max_length=45)]
"""An IP address without length."""

Prefix = Annotated[str, Field(max_length=49)]
"""An IP prefix in CIDR notation."""

Device = Annotated[str, Field(max_length=64)]
"""A network interface's name."""

Version = Annotated[str, Field(max_length=200)]
"""A release of Weft."""

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]

Real = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
"""A measured value that is never negative."""
