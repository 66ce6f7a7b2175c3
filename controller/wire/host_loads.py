"""The load of a cloudlet's host, on which its machines run."""

from typing import Annotated

from pydantic import Field

from controller.wire.fields import Count, Real
from controller.wire.model import Message


class HostLoad(Message):
    """The load of a host: `busy` of its `processors` were in use on average in the last minute (all of them, and more,
    if programs wait; proc(5), loadavg). `memory_free` is in bytes, without swapping (proc(5), MemAvailable)."""

    processors: Annotated[int, Field(ge=1, le=65_536)]
    busy: Real
    memory_free: Count
