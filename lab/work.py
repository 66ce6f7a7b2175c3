"""Load on a guest from a device's namespace by `weft-work`, which `make guests` builds, and the verdict: whether the
connection was alive and all bytes were right, and how long the longest stall was (docs/operate/guests.md)."""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import netns
from lab.errors import LabError
from lab.paths import GUESTS

PROGRAM = GUESTS / "weft-work"
PORT = 5201


@dataclass(frozen=True)
class Side:
    """The bytes that one end of a stream received and sent; `wrong` of them were not the right bytes. `gap` is the
    longest time in seconds without a byte, and `gap_at` when it began, in seconds since the stream did. `send_error`
    ended its sending before the stream's end."""

    received: int
    wrong: int
    first_wrong: int | None
    gap: float
    gap_at: float
    sent: int
    send_error: str | None = None


@dataclass(frozen=True)
class StreamVerdict:
    """The end of a stream. `guest` is the guest's own verdict, None if the connection was lost before. `began` is Unix
    time, and `subflows` how many the connection had at the end."""

    error: str | None
    mptcp: bool
    subflows: int
    began: float
    seconds: float
    device: Side
    guest: Side | None

    @property
    def intact(self) -> bool:
        """Whether there was one connection from the beginning to the end, and all bytes sent on it arrived
        unchanged."""
        ends = self.device, self.guest
        if self.error is not None or ends[1] is None or ends[0].wrong or ends[1].wrong:
            return False
        return (ends[0].received, ends[1].received) == (ends[1].sent, ends[0].sent)


@dataclass(frozen=True)
class EchoVerdict:
    """The result of requests: their number, how many had a wrong answer, and times in seconds. `longest` includes the
    request that had no answer at the end."""

    error: str | None
    mptcp: bool
    subflows: int
    began: float
    seconds: float
    requests: int
    wrong: int
    median: float
    p99: float
    longest: float
    longest_at: float


class Load:
    """A client that runs in a namespace until its verdict is asked for, or `seconds` are over."""

    def __init__(self, namespace: str, kind: str, host: str, record: Path, words: dict[str, float]) -> None:
        self.record = record
        record.unlink(missing_ok=True)
        given = [f"{key}={value:g}" if value % 1 else f"{key}={value:.0f}" for key, value in words.items()]
        argv = [str(PROGRAM), kind, host, f"port={PORT}", f"series={record}", *given]
        self._process = subprocess.Popen(
            netns.command(namespace, argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def series(self) -> list[tuple[float, float]]:
        """Return the record so far: seconds since the beginning, and bytes in 10 ms (stream; slots without a byte are
        left out) or the seconds that the request took (echo)."""
        if not self.record.exists():
            return []
        whole = self.record.read_text().rpartition("\n")[0].splitlines()[2:]
        return [(float(at), float(value)) for at, value in (line.split(",") for line in whole)]

    def _end(self, seconds: float) -> dict[str, Any]:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            out, err = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise LabError(f"weft-work did not end within {seconds:g} s") from None
        if not out:
            raise LabError(err.decode().strip() or f"weft-work ended with {self._process.returncode}")
        told: dict[str, Any] = json.loads(out)
        del told["alive"]
        return told

    def kill(self) -> None:
        """Kill the client without a verdict."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


class Stream(Load):
    """Bytes in both directions: `down` to the device and `up` to the guest, a second (-1: as fast as possible)."""

    def __init__(
        self, namespace: str, host: str, record: Path, *, down: float = 0, up: float = 0, **words: float
    ) -> None:
        super().__init__(namespace, "stream", host, record, {"down": down, "up": up, **words})

    def verdict(self, seconds: float = 30) -> StreamVerdict:
        told = self._end(seconds)
        guest = told.pop("peer")
        device = {key: told.pop(key) for key in Side.__dataclass_fields__}
        return StreamVerdict(**told, device=Side(**device), guest=Side(**guest) if guest else None)


class Echo(Load):
    """One request after the other, `interval` seconds apart. Each answer repeats its request."""

    def __init__(self, namespace: str, host: str, record: Path, *, interval: float = 0.02, **words: float) -> None:
        super().__init__(namespace, "echo", host, record, {"interval": interval, **words})

    def verdict(self, seconds: float = 30) -> EchoVerdict:
        return EchoVerdict(**self._end(seconds))


def ask(namespace: str, host: str, words: Sequence[str]) -> dict[str, Any]:
    """Return a guest's answer to `memory …` or `disk …`. Raises LabError when the answer is an error, or there is
    none."""
    done = netns.execute(namespace, [str(PROGRAM), "ask", host, f"port={PORT}", *words], timeout=60)
    if done.returncode:
        raise LabError(f"weft-work {' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
