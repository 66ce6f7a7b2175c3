"""Moves: messages between the controller, which decides, and the agents, which act.

Orders are sent as server-sent events named `orders` on `GET /api/v1/agent/desired`, without an id: the whole document
at the beginning of a stream and whenever it changes. An order describes a state to reach, not a next step. An agent
that has carried an order out reports so again when it gets the order again; an agent that has lost its memory looks at
the hypervisor first. An agent stops work on an order that is no longer in the document, and undoes nothing without an
order.

`POST /api/v1/agent/moves` takes progress and answers 204 once the database has it. Progress of an order that no longer
exists is accepted and has no effect, except that the start of one is refused (409, below).

The right to run the VM (so that it runs exactly once, whichever part fails at any time):
- The destination runs it only by `activate`. The controller orders that only after it has stored that the source
  reported `switchover` done, and so never runs it again by itself.
- The source runs it again only by `abort`. The controller orders that only as long as it has not stored that report;
  later only once the destination, which could not run it, has reported its own `abort` done.
- An agent begins `switchover` and `activate` only once a report that they are `running` was answered with 204; 409
  means that the order no longer exists. An `activate` that has `failed` or was `refused` has not left the VM running.
- Until its report of the end of `switchover` is answered too, the source reports at least every third of
  `fence_seconds`. If its last answered report was sent `fence_seconds` ago, or its agent restarted meanwhile, it makes
  sure that the VM does not run, until it gets an order. Twice that time after the source's last report, the controller
  may continue with the destination, which can run the VM if all of its state has arrived.
- The controller waits for a destination that began `activate` and fell silent. It may pass over one that did not begin.

An agent reports on all other orders under way at least every 20 s; an order without a report for 60 s has failed.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from controller.wire.fields import Count, Name, Real
from controller.wire.host_loads import HostLoad
from controller.wire.initiations import Initiation
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.model import Message
from controller.wire.platforms import Platform

Number = Annotated[int, Field(ge=1, le=2**63 - 1)]

Act = Literal[
    "start",
    "stop",
    "initiate",
    "prepare",
    "disk",
    "memory",
    "switchover",
    "activate",
    "join",
    "leave",
    "discard",
    "abort",
]
"""The result that an order asks of one of the two cloudlets (source or destination in brackets):

start       (destination) the machine runs, newly booted; no move
stop        (destination) the machine is shut down, and only its disk is left; no move
initiate    (destination) the machine runs, newly booted beside the source's, and its service answers (wire/initiations)
prepare     (destination) the machine waits for its state; the answer has its address, as `target`
disk        (source)      the disk is the same at the target, and stays so while the VM runs
memory      (source)      the memory is the same, except for as much as the last pause can transfer; the VM runs on
switchover  (source)      the VM is stopped, the target has all of its state, and it will not run here again
activate    (destination) the VM runs; it has announced itself (gratuitous ARP and NA); the waiting vNIC is up
join        (destination) the device has joined the new address (MP_JOIN), and that was seen
leave       (destination) the old address takes no new connections, then is gone, and its vNIC is down; roles swap
discard     (source)      nothing is left of the machine; its old address is no longer leased, if it has a `new` one
abort       (both)        as if there had been no move: it runs at the source, nothing is left at the destination
"""


POWER = ("start", "stop")
"""Orders that are not part of a move. Their `move` is the machine's name, and `number` the revision of its record."""


class Target(Message):
    """The addresses at which a destination waits. `memory` and `disk` are URIs in the driver's own form (`disk` is None
    without a disk); `memory` has several if several paths lead there. `platform` is the machine's platform there; None
    from a driver that cannot tell, or an agent of an older release."""

    memory: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=8)]
    disk: Annotated[str, Field(max_length=200)] | None = None
    platform: Platform | None = None


class Keep(Message):
    """The copy of a VM's memory that both ends of a move keep for the way back: for how many `seconds`, and at most how
    many `bytes` for all VMs of a cloudlet."""

    seconds: Annotated[int, Field(ge=1, le=2_592_000)]
    bytes: Count


class Tuning(Message):
    """The policy's limits on a transfer. `downtime_ms` is the pause that the driver aims at. `keep` is None if no copy
    is kept. `mirror` is how many bytes of the memory, and of the disk, each end of a thin line mirrors; None: all. An
    agent of an older release knows neither. `direct`: no thin line, as this line is fast; only for agents that know it
    (`Platform.direct`)."""

    downtime_ms: Annotated[int, Field(ge=1, le=60_000)] = 300
    compression: bool = True
    auto_converge: bool = True
    post_copy: bool = False
    keep: Annotated[Keep | None, Field(exclude_if=lambda keep: keep is None)] = None
    mirror: Annotated[Count | None, Field(exclude_if=lambda mirror: mirror is None)] = None
    direct: Annotated[bool, Field(exclude_if=lambda direct: not direct)] = False
    bandwidth: Count | None = None
    """Maximum bits per second; None: no limit other than the link's."""


class Addresses(Message):
    """The plan of a move. `old` is the VM's present address and `new` its address at the destination, both without
    length; `device` is the device's own address at the destination, where the agent looks for the join. `new` is None
    in a move that keeps the address, and in a `discard` also if the VM has kept it after all. `linger` is how many
    seconds the old address stays after the join."""

    old: str
    new: str | None = None
    device: str | None = None
    linger: Real = 0.0


class Order(Message):
    """An order to one cloudlet. `number` grows with every order of a move, and the order's progress repeats it.
    `endpoint` is the LAN at this cloudlet, `peer` and `peer_vtep` the other cloudlet. `serving` is the vNIC that has
    the old address. `initiation`: the VM starts anew at the destination (`MoveReport.initiates`)."""

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
    initiation: Annotated[Initiation | None, Field(exclude_if=lambda initiation: initiation is None)] = None


class Orders(Message):
    """All present orders of a cloudlet, at most one of each move."""

    cloudlet: Name
    orders: list[Order]


class Pages(Message):
    """Pages of memory by the way in which they went over a thin line: all `zero`; the `same` as there; a copy of a page
    that is `known` there; as a `delta`; as a `literal`. `repeats` are parts that had to go again, as the ends differed
    in what they knew. `kept`: both ends had a copy of an earlier stay. `fast`: the line is so fast that saving bytes
    costs time."""

    zero: Count
    same: Count
    known: Count
    delta: Count
    literal: Count
    repeats: Count = 0
    kept: bool = False
    fast: Annotated[bool, Field(exclude_if=lambda fast: not fast)] = False


class Figures(Message):
    """Measured values, as far as they apply; sums over the whole act. `total` and `done` are bytes of the act's work,
    `wire` the bytes that went over the network; `bandwidth` is in bits per second, `dirty_rate` in bytes a second,
    times in seconds or, where the name says so, milliseconds. `paused_ms` is how long the hypervisor stopped the VM.
    `pages` are those of a copy over a thin line."""

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
    pages: Annotated[Pages | None, Field(exclude_if=lambda pages: pages is None)] = None


class Progress(Message):
    """The progress of an order. `failed` ends it: `detail` says what the agent left behind, and an `abort` cleans up.
    `refused`: another try would fail the same way (no room, no such image)."""

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
    """Progress since the last report, in its order, and the present machines of the cloudlet. `unlisted` are drivers
    that have not listed their machines since the agent started; the state of those machines is unknown. `platforms` has
    the platform of each driver here; None: as last reported. An agent that has reported them understands
    `Target.platform`; the controller sends it to no other. `load` is the host's; an agent of an older release does not
    report it. `initiates` has the drivers that are set up here, from an agent that understands `initiate`; None: as
    last reported, or, with `platforms`, from an agent that does not."""

    cloudlet: Name
    progress: list[Progress] = Field(max_length=200, default_factory=list)
    machines: list[MachineState] = Field(max_length=2000, default_factory=list)
    unlisted: list[Name] = Field(max_length=100, default_factory=list)
    platforms: Annotated[dict[Name, Platform], Field(max_length=100)] | None = None
    load: Annotated[HostLoad | None, Field(exclude_if=lambda load: load is None)] = None
    initiates: Annotated[list[Name] | None, Field(max_length=100, exclude_if=lambda drivers: drivers is None)] = None
