"""The events of a move, and the notes that are stored of it."""

from dataclasses import dataclass, field
from typing import Literal

from controller.core.saga.steps import Side, Step
from controller.wire.moves import Figures, Target

State = Literal["running", "done", "failed", "refused"]


@dataclass(frozen=True)
class Said:
    """A cloudlet's agent reports on order `number`."""

    side: Side
    number: int
    state: State
    detail: str = ""
    figures: Figures = field(default_factory=Figures)
    target: Target | None = None


@dataclass(frozen=True)
class Did:
    """The controller has done its own task `number`, or could not. The results: the `pool` that the destination joined
    and the generation at which it `joined`; the `pair` reserved with its addresses `new` and `device_address` (a `pair`
    of None was reserved before by another request, and stays so), and the time until which that and the old one are
    `held`."""

    number: int
    state: State
    detail: str = ""
    pool: str | None = None
    joined: int | None = None
    pair: int | None = None
    held: str | None = None
    new: str | None = None
    device_address: str | None = None


@dataclass(frozen=True)
class Admitted:
    """The move is admitted: it may begin."""


@dataclass(frozen=True)
class Clock:
    """Time has passed."""


@dataclass(frozen=True)
class Resumed:
    """No controller drove the moves for a while: reports of a silent cloudlet may have been missed."""


@dataclass(frozen=True)
class Cancel:
    """A user cancels the move."""

    why: str


@dataclass(frozen=True)
class Hurry:
    """The old address must not linger any longer, even if it is in use."""

    why: str


@dataclass(frozen=True)
class Wandered:
    """The device was seen at another place than the destination."""

    endpoint: str


@dataclass(frozen=True)
class Gone:
    """A cloudlet was removed from the region: it will not answer any more."""

    side: Side


Event = Admitted | Said | Did | Clock | Resumed | Cancel | Hurry | Wandered | Gone


@dataclass(frozen=True)
class Note:
    """A step began (`running`) or came to an end."""

    step: Step
    state: Literal["running", "done", "failed", "refused", "skipped"]
    undoing: bool = False
    detail: str = ""
    figures: Figures = field(default_factory=Figures)
