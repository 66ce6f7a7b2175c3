"""Leases on behalf of DHCP clients, as a DHCP server and its source of leases speak of them.

Agents of former releases ask the controller for each: `POST /api/v1/agent/leases` grants or renews (idempotent per
client), `POST /api/v1/agent/leases/release` gives back. Today's have ranges of their own (delegations.py).
A device that nobody registered gets an even address under its own client id; a VM must be registered with its device,
because its address is the one above the device's.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Address, Name
from controller.wire.model import Message

Written = Annotated[str, Field(max_length=510)]
"""As the client writes it: the longest is an identifier of 255 octets in hex."""


class LeaseRequest(Message):
    """`mac` is `02:00:5e:00:00:01` form; `client_id` is DHCP option 61 as lower-case hex, None when the client sent
    none. `address` is what the client asked for (option 50 or ciaddr), a hint only; `renewing`: it uses that now."""

    endpoint: Name
    mac: Written
    client_id: Written | None = None
    hostname: Written | None = None
    address: Address | None = None
    renewing: bool = False


class LeaseGrant(Message):
    """An address of the plan. `address` without length, `prefix_length` of the LAN, `gateway` the cloudlet's address.
    `kind` says MD or VM; `device` names the device the pair belongs to. `seconds` is the lease time."""

    address: str
    prefix_length: int
    gateway: str
    kind: Literal["md", "vm"]
    device: str
    seconds: int


class LeaseRelease(Message):
    """The client gives its address back."""

    endpoint: Name
    address: Address
    mac: Written
    client_id: Written | None = None
