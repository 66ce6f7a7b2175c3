"""Leases on behalf of DHCP clients, in messages between a DHCP server and its source of leases.

Agents of former releases ask the controller for each lease: `POST /api/v1/agent/leases` grants or renews (idempotent
per client), `POST /api/v1/agent/leases/release` gives back. Present agents have ranges of their own (delegations.py).
An unregistered device gets an even address under its own client id; a VM must be registered with its device, because
its address is the one above the device's.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Address, Name
from controller.wire.model import Message

Written = Annotated[str, Field(max_length=510)]
"""As the client writes it; at most an identifier of 255 octets in hex."""


class LeaseRequest(Message):
    """A request for a lease. `mac` is in the form `02:00:5e:00:00:01`; `client_id` is DHCP option 61 as lower-case hex,
    None if the client sent none. `address` is the address that the client asked for (option 50 or ciaddr), only a hint;
    with `renewing`, the client uses that address now."""

    endpoint: Name
    mac: Written
    client_id: Written | None = None
    hostname: Written | None = None
    address: Address | None = None
    renewing: bool = False


class LeaseGrant(Message):
    """A leased address of the plan. `address` has no length, `prefix_length` is the LAN's, `gateway` the cloudlet's
    address. `kind` is MD or VM; `device` is the name of the pair's device. `seconds` is the lease time."""

    address: str
    prefix_length: int
    gateway: str
    kind: Literal["md", "vm"]
    device: str
    seconds: int


class LeaseRelease(Message):
    """A client's request to give its address back."""

    endpoint: Name
    address: Address
    mac: Written
    client_id: Written | None = None
