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
    memory, and boots from `image`."""

    programs: tuple[tuple[str, ...], ...] = ()
    image: str = LAB
    mib: int = 256
    disk: Disk | None = None


_CHURN = ("sh", "-c", f"setsid sh -c '{CHURN}' >/dev/null 2>&1 </dev/null &")

STATES = {
    "idle": State(),
    "work": State((("weft-work", "ask", "127.0.0.1", "memory", "start", "mib=8", "rate=1"), _CHURN)),
    "dirty": State((("weft-work", "ask", "127.0.0.1", "memory", "start", "mib=64", "rate=1"),)),
    "workshop": State((BEGIN,), WORKSHOP, 512, Disk(base=WORKSHOP, bytes=BYTES)),
}
"""`work`: processes that come and go, and pages that are written again and again; `dirty`: 64 MiB of a random pattern,
of which 1 MiB a second is written; `workshop`: a compiler, SQLite and Redis."""

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
    *(Way(f"thin without {one}", Tuning(), _THIN | {"without": one}) for one in ("known", "deltas", "compression")),
)


def lines(rates: list[int], rtts: list[float], losses: list[float]) -> list[Line]:
    """Return every combination, the slowest line first."""
    return [Line(rate, rtt, loss) for rate in sorted(rates) for rtt in sorted(rtts) for loss in sorted(losses)]
