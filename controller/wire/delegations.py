"""Ranges of pairs that an agent leases by itself, and its reports of them.

`POST /api/v1/agent/leases/exchange`, one endpoint at a time. The agent tells its changes, the blocks it needs, and the
clients it does not know. The answer tells which changes are stored, which blocks the agent may use now, and who those
clients are. Pairs are counted from 0: the device's address is the prefix's base + 2 + 2 * number, its VM's the one
above, in either family. Seconds count from the sending of the message, so clocks need not agree.

An incarnation is one unbroken memory of an agent. Within it, `version` counts the agent's changes to leases, and an
entry is the whole state of one half of a pair after its last change: entries may be sent twice, and a later one
replaces an earlier one. `turn` grows with every attempt, so that a delayed exchange has no effect.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from controller.wire.fields import ClientId, Mac, Name
from controller.wire.host_settings import NO_SETTINGS, HostSettings
from controller.wire.model import Message

Count = Annotated[int, Field(ge=0, le=2**62)]
Seconds = Annotated[int, Field(ge=0, le=2**32)]
Hostname = Annotated[str, Field(max_length=255, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]


class Client(Message):
    """A machine's identity in DHCP: `mac` as `02:00:5e:00:00:01`, `client_id` (option 61) as lower-case hex, or
    both."""

    mac: Mac | None = None
    client_id: ClientId | None = None

    @model_validator(mode="after")
    def _is_known_somehow(self) -> Self:
        if self.mac is None and self.client_id is None:
            raise ValueError("give mac, client_id, or both")
        return self


class Entry(Client):
    """Half of a pair, leased for another `left` seconds; 0: no longer leased. `device` is the agent's name for the
    pair's device, None if it has none. Without `sure`, the agent's memory has had a gap since, and the database's state
    counts instead."""

    version: Count
    number: Count
    kind: Literal["md", "vm"]
    hostname: Hostname | None = None
    device: Name | None = None
    left: Seconds
    sure: bool = True


class Declined(Client):
    """An address that a client was given and found in use by another host (DHCPDECLINE, RFC 2131 section 3.1, and RFC
    8415 section 18.2.8). Nobody gets it for another `left` seconds. With `whole`, nobody gets the other half of the
    pair either, and the pair is no longer its device's."""

    number: Count
    kind: Literal["md", "vm"]
    left: Seconds
    whole: bool


class Exchange(Message):
    """The agent's part of an exchange. `acked` is the version up to which the controller has confirmed all changes.
    `entries` continue from there; `more` means that further ones follow. `blocks` are all that the agent holds, None if
    unchanged. `want` is the number of further blocks that it needs. `give_back` are blocks it no longer uses, with no
    lease in them. `forget` are the pairs unused for longest, to be freed for other devices. `ask` are clients to
    identify. `resting` means that blocks of a former incarnation rest: the agent uses them again after the rest, unless
    the controller answers first, which takes them away. `declined` are repeated until the controller answers; agents of
    former releases send none."""

    endpoint: str = Field(max_length=63)
    incarnation: str = Field(pattern=r"^[0-9a-f]{32}$")
    turn: Count
    acked: Count
    entries: list[Entry] = Field(default_factory=list, max_length=1000)
    more: bool = False
    blocks: list[Count] | None = Field(default=None, max_length=100_000)
    want: int = Field(default=0, ge=0, le=1000)
    give_back: list[Count] = Field(default_factory=list, max_length=1000)
    forget: list[Count] = Field(default_factory=list, max_length=1000)
    ask: list[Client] = Field(default_factory=list, max_length=1000)
    resting: bool = Field(default=False, exclude_if=lambda resting: not resting)
    declined: list[Declined] = Field(default=[], max_length=1000, exclude_if=lambda some: not some)


class Block(Message):
    """`pairs` pairs from number `first` on."""

    number: int
    first: int
    pairs: int


class Known(Message):
    """A device as the controller knows it. `number` is its pair here, None if it has none yet. The agent leases this
    pair from now on, and it stays the device's until the controller lists it as `forgotten`."""

    device: str
    number: int | None
    md: Client | None
    vm: Client | None
    md_left: int = 0
    vm_left: int = 0


class Exchanged(Message):
    """The controller's part of an exchange. `anew`: this incarnation is no longer valid; the agent begins another.
    `resync`: the controller knows less than it once confirmed (its database is an older copy); the agent sends
    everything, and its blocks. In both cases the exchange changed nothing.

    `blocks` are given now, or were given before and not yet confirmed by the agent. `without` are the first and last
    numbers of pairs that nobody gets unless the controller names a device for them. `bound`: at access ports, only its
    holder may use a leased address, and nobody a free address of the blocks. `hosts` are the LAN's settings for its
    hosts."""

    acked: int = 0
    anew: bool = False
    resync: bool = False
    lease_seconds: int
    without: list[tuple[int, int]] = Field(default_factory=list)
    bound: bool = Field(default=True, exclude_if=bool)  # agents of former releases know neither this field nor the next
    hosts: HostSettings = Field(default=NO_SETTINGS, exclude_if=lambda hosts: hosts == NO_SETTINGS)
    blocks: list[Block] = Field(default_factory=list)
    forgotten: list[int] = Field(default_factory=list)
    known: list[Known] = Field(default_factory=list)
