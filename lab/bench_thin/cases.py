"""The lines, the states of the guest, and the ways of moving its memory. Pure."""

from dataclasses import dataclass, field

from controller.wire.machines import Disk
from controller.wire.moves import Keep, Tuning
from lab.guests.build import IMAGE as LAB
from lab.guests.workshop.build import BEGIN, BYTES
from lab.guests.workshop.build import IMAGE as WORKSHOP
from lab.verify_memory.guest import CHURN


@dataclass(frozen=True)
class Line:
    """A line of `rate` Mbit/s with a round trip of `rtt` ms, which loses `loss` per cent of its packets."""

    rate: int
    rtt: float
    loss: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.rate} Mbit/s, {self.rtt:g} ms" + (f", {self.loss:g} % lost" if self.loss else "")


@dataclass(frozen=True)
class State:
    """The work of a guest: `programs` run in it, one after the other, before it moves. The machine has `mib` MiB of
    memory, and boots from `image`. `machines` of them move at once."""

    programs: tuple[tuple[str, ...], ...] = ()
    image: str = LAB
    mib: int = 256
    disk: Disk | None = None
    machines: int = 1


def _workshop(*parts: str) -> State:
    return State(((*BEGIN, *parts),), WORKSHOP, 512, Disk(base=WORKSHOP, bytes=BYTES))


def _beside(script: str) -> tuple[str, ...]:
    """Return a program of the guest's that runs on in the background."""
    return ("sh", "-c", f"setsid sh -c '{script}' >/dev/null 2>&1 </dev/null &")


_MEMORY = ("weft-work", "ask", "127.0.0.1", "memory", "start", "rate=1")

_LOG = (
    "n=0; while :; do seq $n 1 $((n + 9999)) | sed s/$/:.the.service.has.answered.a.request.of.one.of.its.customers"
    ".and.is.well/ >/tmp/log$((n / 10000 % 64)); n=$((n + 10000)); [ $n -lt 640000 ] || sleep 1; done"
)
"""A script that writes 64 files of 0.9 MB of text, and then one of them again each second."""

STATES = {
    "idle": State(),
    "compile": _workshop("compile"),
    "database": _workshop("database", "cache"),
    "service": _workshop("service"),
    "random": State(((*_MEMORY, "mib=64"),)),
    "text": State((_beside(_LOG),)),
    "work": State(((*_MEMORY, "mib=8"), _beside(CHURN))),
    "workshop": _workshop(),
    "many": State(machines=4),
}
"""`compile`: gcc; `database`: SQLite and Redis, and their clients; `service`: a service in Python; `random`: 64 MiB of
a random pattern, of which 1 MiB a second is written; `text`: as much text; `work`: processes that come and go, and
pages that are written again and again; `workshop`: `compile` and `database`; `many`: four idle machines of one
image."""

_KEEP = Keep(seconds=3600, bytes=1 << 34)


@dataclass(frozen=True)
class Way:
    """A way to move. `home`: the way back is measured, 20 s after the way out. `base`: both ends have a base memory of
    the image."""

    name: str
    tuning: Tuning
    options: dict[str, str] = field(default_factory=dict)
    home: bool = False
    base: bool = False


_THIN = {"compression": "thin"}
WAYS = (
    Way("plain", Tuning(compression=False)),
    Way("zstd", Tuning(), {"compression": "zstd"}),
    Way("xbzrle", Tuning(), {"compression": "xbzrle"}),
    Way("post-copy", Tuning(compression=False, post_copy=True)),
    Way("thin", Tuning(), _THIN),
    Way("thin, base memory", Tuning(), _THIN, base=True),
    Way("thin, home", Tuning(keep=_KEEP), _THIN, home=True),
    Way("thin without mirror", Tuning(mirror=0), _THIN),
    *(Way(f"thin without {one}", Tuning(), _THIN | {"without": one}) for one in ("known", "deltas", "compression")),
)


def lines(rates: list[int], rtts: list[float], losses: list[float]) -> list[Line]:
    """Return every combination, the slowest line first."""
    return [Line(rate, rtt, loss) for rate in sorted(rates) for rtt in sorted(rtts) for loss in sorted(losses)]
