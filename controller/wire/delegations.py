"""Ranges of pairs that an agent gives out by itself, and its account of them.

`POST /api/v1/agent/leases/exchange`, one endpoint at a time: the agent says what has changed, what it needs, and of
whom it knows nothing; the answer says what was taken in, what it may use now, and who those are. Pairs are counted from
0: the device's address is the prefix's base + 2 + 2 * number, its VM's the one above, in either family. Seconds are
counted from when the message is sent, so that no two clocks need agree.

An incarnation is one unbroken memory of an agent. Within it, `version` counts the changes that it made to leases, and
an entry is the whole state of one half of a pair at its last change: entries may be sent twice, and a later one takes
the place of an earlier one. `turn` grows with every attempt, so that an exchange that comes late does nothing.
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
    """How a machine is known to DHCP: `02:00:5e:00:00:01`, option 61 in lower-case hex, or both."""

    mac: Mac | None = None
    client_id: ClientId | None = None

    @model_validator(mode="after")
    def _is_known_somehow(self) -> Self:
        if self.mac is None and self.client_id is None:
            raise ValueError("give mac, client_id, or both")
        return self


class Entry(Client):
    """Half of a pair, leased for another `left` seconds; 0: not leased any more. `device` is the name by which the
    agent knows the pair's device, None if it has none. Not `sure`: the agent's memory has a gap since, and what the
    database has counts."""

    version: Count
    number: Count
    kind: Literal["md", "vm"]
    hostname: Hostname | None = None
    device: Name | None = None
    left: Seconds
    sure: bool = True


class Declined(Client):
    """An address that this client was given and found in use by somebody else (DHCPDECLINE, RFC 2131 section 3.1, and
    RFC 8415 section 18.2.8). Nobody gets it for another `left` seconds; `whole`: nor the other half of the pair, which
    is its device's no longer."""

    number: Count
    kind: Literal["md", "vm"]
    left: Seconds
    whole: bool


class Exchange(Message):
    """`acked` is the version up to which the controller has said that it has all; `entries` go on from there, `more`
    says that they are not all of them. `blocks` are all that the agent holds, None where that is as it was. `want`:
    so many more; `give_back`: not used any more, nothing in them is leased. `forget`: pairs that nobody has used for
    longest, to be used for others. `ask`: who are these? `resting`: there are blocks of a former incarnation, which
    will be used again when they have rested, unless the controller is heard before: what it answers ends that.
    `declined` are told until they are heard; agents of a former release tell of none."""

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
    """A device as the controller knows it. `number` is its pair here, which is the agent's to lease from now on, and
    the device's until the agent is told that it is forgotten; None: it has none yet."""

    device: str
    number: int | None
    md: Client | None
    vm: Client | None
    md_left: int = 0
    vm_left: int = 0


class Exchanged(Message):
    """`anew`: this incarnation counts no longer; begin another. `resync`: the controller knows less than it once said
    (its database is an older copy): send everything, and the blocks. In both cases nothing was done.

    `blocks` are given now, or were and the agent has not said that it has them. `without` are first and last number of
    pairs that nobody gets unless a device is said to have it. `bound`: at access ports a leased address is its holder's
    alone, and one of the blocks that is not leased nobody's. `hosts`: what the LAN's hosts are told."""

    acked: int = 0
    anew: bool = False
    resync: bool = False
    lease_seconds: int
    without: list[tuple[int, int]] = Field(default_factory=list)
    bound: bool = Field(default=True, exclude_if=bool)  # agents of a former release know no such field, nor the next
    hosts: HostSettings = Field(default=NO_SETTINGS, exclude_if=lambda hosts: hosts == NO_SETTINGS)
    blocks: list[Block] = Field(default_factory=list)
    forgotten: list[int] = Field(default_factory=list)
    known: list[Known] = Field(default_factory=list)
