"""Sightings: places where devices were seen (Teka, section V: the VM's side finds out that the device has gone
elsewhere).

`POST /api/v1/agent/sightings` takes them and answers 204. They are hints: a device counts as present only where it
holds a lease, so that nobody can move a VM by sending a packet.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Mac, Name
from controller.wire.model import Message

How = Literal["lease", "packet"]
"""`lease`: the device was given an address here, or had it confirmed. `packet`: it sent a packet to this LAN from an
address of another LAN of the pool."""


class Sighting(Message):
    """One device, seen `age` seconds before the report was sent at `endpoint`, which is this cloudlet's. `address` is
    the address that it used, and `mac` the sender's, if the kernel could tell. `count` is the number of packets since
    the last sighting."""

    endpoint: Name
    address: Annotated[str, Field(max_length=45)]
    how: How
    mac: Mac | None = None
    age: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 0.0
    count: Annotated[int, Field(ge=1, le=2**31 - 1)] = 1


class SightingReport(Message):
    """Sightings, oldest first, at most one for each address and LAN."""

    cloudlet: Name
    sightings: Annotated[list[Sighting], Field(max_length=500)]
