"""Encrypted tunnels as an agent sees its own: a part of its report (`controller/wire/reports.py`)."""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Address, Count, Name
from controller.wire.model import Message

Condition = Literal["up", "connecting", "down"]
"""`connecting`: there is none, and one is being made."""

Seconds = Annotated[float, Field(ge=0, le=2**31, allow_inf_nan=False)]


class IpsecTunnel(Message):
    """The tunnel to the VTEP `remote` of another cloudlet, from this one's, `local`: up, or not up, for `age` seconds.

    `ike` and `esp` are what was negotiated (empty: nothing), the keys of the traffic are `keyed` seconds old and are
    made anew in `rekey` seconds. Counted is what went through since the agent began, before it was encrypted; `dropped`
    is VXLAN that was to go there, or came from there, in the clear, since the machine was booted. `why`: a sentence of
    why it is not up, where something is known.
    """

    cloudlet: Name
    local: Address
    remote: Address
    state: Condition
    age: Seconds
    ike: Annotated[str, Field(max_length=120)] = ""
    esp: Annotated[str, Field(max_length=120)] = ""
    keyed: Seconds | None = None
    rekey: Seconds | None = None
    bytes_in: Count = 0
    bytes_out: Count = 0
    packets_in: Count = 0
    packets_out: Count = 0
    dropped_in: Count = 0
    dropped_out: Count = 0
    why: Annotated[str, Field(max_length=300)] = ""


class Ipsec(Message):
    """One tunnel to each cloudlet that this one shares a pool with, and to nobody else. `dropped` is all the VXLAN in
    the clear that the guard has kept from leaving and from getting in, whoever's. `problem`: why nothing works."""

    tunnels: Annotated[list[IpsecTunnel], Field(max_length=10_000)]
    dropped_in: Count = 0
    dropped_out: Count = 0
    problem: Annotated[str, Field(max_length=300)] = ""

    @property
    def steady(self) -> "Ipsec":
        """The same without what is different every time though nothing has happened."""
        still = dict.fromkeys(("keyed", "rekey")) | dict.fromkeys(_GROWING, 0)
        return self.model_copy(update={"tunnels": [tunnel.model_copy(update=still) for tunnel in self.tunnels]})


_GROWING = ("age", "bytes_in", "bytes_out", "packets_in", "packets_out")
