"""A stream of pings from one node, with the time of every reply: which were lost, and when the first reply came."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from lab import netns
from lab.errors import LabError
from lab.paths import LAB

_REPLY = re.compile(
    r"^\[([\d.]+)\] \d+ bytes from .{1,200}icmp_seq=(\d{1,20}) .{0,50}time=([\d.]{1,20}) ms", re.MULTILINE
)
_SUMMARY = re.compile(r"\b(\d{1,20}) packets transmitted, (\d{1,20}) received")


@dataclass(frozen=True)
class Reply:
    """A reply: `at` is in seconds since the epoch, `rtt_ms` as ping measured it."""

    at: float
    sequence: int
    rtt_ms: float


@dataclass(frozen=True)
class PingResult:
    """`lost_at` is about when each request without a reply was sent, in seconds since the epoch. It leaves out requests
    that were still on their way when the stream was stopped."""

    sent: int
    replies: tuple[Reply, ...]
    lost_at: tuple[float, ...]

    @property
    def lost(self) -> int:
        return len(self.lost_at)

    def first_after(self, at: float) -> Reply | None:
        return next((reply for reply in self.replies if reply.at > at), None)

    def last(self) -> Reply | None:
        return self.replies[-1] if self.replies else None


class PingStream:
    """ping in a node's namespace from construction until `stop`, every `interval` seconds; from the address `source`,
    if one is given."""

    def __init__(
        self, node: str, address: str, interval: float = 0.05, size: int = 56, source: str | None = None
    ) -> None:
        LAB.mkdir(parents=True, exist_ok=True)
        self._output = tempfile.TemporaryFile("w+", dir=LAB)  # noqa: SIM115 - closed by stop
        argv = [
            "ping",
            "-D",
            "-n",
            "-O",
            "-i",
            f"{interval:g}",
            "-s",
            str(size),
            *(["-I", source] if source else []),
            address,
        ]
        self._process = subprocess.Popen(
            netns.command(netns.PREFIX + node, argv),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        self.node, self.address, self.interval, self._began = node, address, interval, time.time()

    def replies(self) -> tuple[Reply, ...]:
        """Return the replies that have come so far."""
        size = os.fstat(self._output.fileno()).st_size
        text = os.pread(self._output.fileno(), size, 0).decode(errors="replace")
        return tuple(Reply(float(at), int(sequence), float(rtt)) for at, sequence, rtt in _REPLY.findall(text))

    def wait_reply(self, after: float, seconds: float) -> Reply | None:
        """Return the first reply after the time `after`, or None if none comes within `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            if found := next((reply for reply in self.replies() if reply.at > after), None):
                return found
            if time.monotonic() > deadline or self._process.poll() is not None:
                return None
            time.sleep(0.005)

    def stop(self, grace: float = 0.5) -> PingResult:
        """End the stream. Unanswered requests of the last `grace` seconds do not count as lost, unless a later one was
        answered."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        replies = self.replies()
        text = os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0).decode(errors="replace")
        self._output.close()
        summary = _SUMMARY.search(text)
        if not summary:
            raise LabError(f"ping {self.address} at {self.node} failed: {text.strip()[-200:]}")
        sent = int(summary[1])
        # The WAN keeps the order: a request that is older than an answered one will not be answered any more.
        settled = max([sent - max(1, round(grace / self.interval)), *(reply.sequence for reply in replies)])
        return PingResult(sent, replies, tuple(self._lost(replies, settled)))

    def _lost(self, replies: tuple[Reply, ...], settled: int) -> Iterator[float]:
        """Yield when the requests up to `settled` without a reply were sent: by the time of the last answered request
        before, and the number of intervals since."""
        sent = {reply.sequence: reply.at - reply.rtt_ms / 1000 for reply in replies}
        known = min(sent.items(), default=(0, self._began))
        for sequence in range(1, settled + 1):
            if sequence in sent:
                known = sequence, sent[sequence]
            else:
                yield known[1] + (sequence - known[0]) * self.interval

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._output.closed:
            with contextlib.suppress(LabError):
                self.stop()
