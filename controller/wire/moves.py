"""Moves, between the controller that decides and the agents that act.

Orders are sent as server-sent events named `orders` on `GET /api/v1/agent/desired`, without an id: the whole document
at the beginning of a stream and whenever it changes. They say what is to be so, not what has to be done next: an agent
that has carried an order out reports so again when it is asked again, and one that has lost its memory looks at the
hypervisor first. An order that is not there any more is not carried on with, and nothing is undone without one.

`POST /api/v1/agent/moves` takes progress and answers 204 once the database has it. Progress of an order that is not
there any more is taken and comes to nothing, but for one that is to begin (409, below).

Who may run the VM (so that it runs exactly once, whatever dies when):
- The destination runs it only by `activate`, which the controller orders only after it has written down that the source
  reported `switchover` done, and so will never run it again by itself.
- The source runs it again only by `abort`, which the controller orders only as long as it has not written that down;
  later only once the destination, which could not run it, has reported its own `abort` done.
- `switchover` and `activate` are begun only once a report that they are `running` was answered with 204: 409 says that
  the order is not there any more. An `activate` that has `failed` or was `refused` has not left the VM running.
- Until the end of its `switchover` was answered as well, the source reports at least every third of `fence_seconds`.
  If its last answered report was sent `fence_seconds` ago, or its agent was started meanwhile, it makes sure that the
  VM does not run, until it is told what to do. Twice that time after the last word, the controller may go on with the
  destination, which can run the VM if all of its state has arrived.
- A destination that has begun `activate` and fell silent is waited for; one that has not begun may be passed over.

All other orders under way are reported on at least every 20 s; whoever says nothing for 60 s has failed.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from controller.wire.fields import Count, Name, Real
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.model import Message
from controller.wire.platforms import Platform

Number = Annotated[int, Field(ge=1, le=2**63 - 1)]

Act = Literal[
    "start", "stop", "prepare", "disk", "memory", "switchover", "activate", "join", "leave", "discard", "abort"
]
"""What one of the two cloudlets is to bring about (source or destination in brackets):

start       (destination) the machine runs, newly booted: nobody moves
stop        (destination) the machine is shut down, and nothing is left of it but its disk: nobody moves
prepare     (destination) the machine waits for its state; the answer says where, as `target`
disk        (source)      the disk is the same at the target, and stays so while the VM runs
memory      (source)      the memory is the same but for what the last pause can take; the VM runs on
switchover  (source)      the VM is stopped, the target has all of its state, and it will not run here again
activate    (destination) the VM runs; its neighbours hear where it is (gratuitous ARP and NA); the waiting vNIC is up
join        (destination) the device has joined the new address (MP_JOIN), and that was seen
leave       (destination) the old address takes no new connections, then is gone, and its vNIC is down; roles swap
discard     (source)      nothing is left of the machine; its old address is leased no longer, if it has a `new` one
abort       (both)        as if there had been no move: it runs at the source, nothing is left at the destination
"""


POWER = ("start", "stop")
"""Orders that are no part of a move: `move` is the machine's name then, and `number` the revision of its record."""


class Target(Message):
    """Where a destination waits: `memory` and `disk` are URIs in the driver's own words (`disk` None without a disk),
    several of the former if it can be reached by several paths. `platform` is what the machine finds there; None by a
    driver that cannot say, or an agent of an older release."""

    memory: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=8)]
    disk: Annotated[str, Field(max_length=200)] | None = None
    platform: Platform | None = None


class Tuning(Message):
    """How the driver may transfer, by policy. `downtime_ms` is the pause it aims at."""

    downtime_ms: Annotated[int, Field(ge=1, le=60_000)] = 300
    compression: bool = True
    auto_converge: bool = True
    post_copy: bool = False
    bandwidth: Count | None = None
    """Bits per second at most; None: what the link takes."""


class Addresses(Message):
    """The plan of a move. `old` is what the VM is known by now and `new` what it gets at the destination, both without
    length; `device` is the device's own address at the destination, where the join is looked for. `new` is None in a
    move that keeps the address, and in a `discard` also if the VM has kept it after all. `linger` is how many seconds
    the old one lives on after the join."""

    old: str
    new: str | None = None
    device: str | None = None
    linger: Real = 0.0


class Order(Message):
    """`number` grows with every order of a move, and comes back in its progress. `endpoint` is the LAN at this
    cloudlet, `peer` and `peer_vtep` the other cloudlet. `serving` is the vNIC that has the old address."""

    move: Name
    number: Number
    act: Act
    machine: Machine
    endpoint: Name
    peer: Name | None = None
    peer_vtep: str | None = None
    serving: Nic = "a"
    target: Target | None = None
    addresses: Addresses | None = None
    tuning: Tuning = Tuning()
    fence_seconds: Real = 10.0


class Orders(Message):
    """All that a cloudlet is to bring about now, at most one order of a move."""

    cloudlet: Name
    orders: list[Order]


class Figures(Message):
    """What was measured, as far as it applies; sums over the whole act. `total` and `done` are bytes of the act's work,
    `wire` what went over the network; `bandwidth` in bits per second, `dirty_rate` in bytes a second, times in seconds
    and, where they say so, milliseconds. `paused_ms` is how long the hypervisor stopped the VM."""

    seconds: Real | None = None
    done: Count | None = None
    total: Count | None = None
    wire: Count | None = None
    bandwidth: Real | None = None
    dirty_rate: Real | None = None
    memory_used: Count | None = None
    paused_ms: Real | None = None
    paths: Annotated[int, Field(ge=1, le=64)] | None = None
    rounds: Count | None = None


class Progress(Message):
    """How far an order is. `failed` ends it: what the agent left behind is what `detail` says, and an `abort` cleans
    up. `refused`: the same again would fail the same way (no room, no such image), so another try is no use."""

    move: Name
    number: Number
    act: Act
    state: Literal["running", "done", "failed", "refused"]
    detail: Annotated[str, Field(max_length=1000)] = ""
    figures: Figures = Figures()
    target: Target | None = None

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.target is not None) != (self.act == "prepare" and self.state == "done"):
            raise ValueError("target is there if and only if prepare is done")
        return self


class MoveReport(Message):
    """Progress since the last report, in its order, and the machines of the cloudlet as they are now. `unlisted` are
    drivers that have not listed theirs since the agent was started: of these nothing is known. `platforms` are what
    machines of each driver find here; None: as it was last told. An agent that has told them understands
    `Target.platform`; one that never did is not sent it."""

    cloudlet: Name
    progress: list[Progress] = Field(max_length=200, default_factory=list)
    machines: list[MachineState] = Field(max_length=2000, default_factory=list)
    unlisted: list[Name] = Field(max_length=100, default_factory=list)
    platforms: Annotated[dict[Name, Platform], Field(max_length=100)] | None = None
