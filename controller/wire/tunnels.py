"""Encrypted tunnels as an agent sees its own: a part of its report (`controller/wire/reports.py`)."""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Address, Count, Name
from controller.wire.model import Message

Condition = Literal["up", "connecting", "down"]
"""`connecting`: there is no tunnel, and one is being set up."""

Seconds = Annotated[float, Field(ge=0, le=2**31, allow_inf_nan=False)]


class IpsecTunnel(Message):
    """The tunnel to the VTEP `remote` of another cloudlet, from `local`, this cloudlet's: in its present `state` for
    `age` seconds.

    `ike` and `esp` are the negotiated proposals (empty: none). The traffic keys are `keyed` seconds old; new ones
    follow in `rekey` seconds. The counters of bytes and packets began with the agent and count traffic before
    encryption. `dropped` counts VXLAN to or from this peer in the clear, since the machine booted. `why` is the reason
    why the tunnel is not up, if known.
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
    """One tunnel to each cloudlet that this one shares a pool with, and to nobody else. `dropped` counts all VXLAN in
    the clear, of any peer, that the guard has kept from leaving and entering. `problem` is the reason why nothing
    works."""

    tunnels: Annotated[list[IpsecTunnel], Field(max_length=10_000)]
    dropped_in: Count = 0
    dropped_out: Count = 0
    problem: Annotated[str, Field(max_length=300)] = ""

    @property
    def steady(self) -> "Ipsec":
        """The same tunnels without values that change every time even if nothing happens."""
        still = dict.fromkeys(("keyed", "rekey")) | dict.fromkeys(_GROWING, 0)
        return self.model_copy(update={"tunnels": [tunnel.model_copy(update=still) for tunnel in self.tunnels]})


_GROWING = ("age", "bytes_in", "bytes_out", "packets_in", "packets_out")
