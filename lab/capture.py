"""Captures the frames on an interface of a node: tcpdump, with the time of every frame."""

import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from lab import netns
from lab.errors import LabError
from lab.paths import LAB
from lab.pcap import frames

_DROPPED = re.compile(r"\b(\d{1,20}) packets? dropped by kernel")
_LINE = re.compile(r"^(\d+\.\d+) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Frame:
    """A captured frame: `at` is in seconds since the epoch, `text` is tcpdump's description."""

    at: float
    text: str


class Capture:
    """tcpdump from construction (it listens when the constructor returns) until `stop`.

    `expression` is a pcap-filter(7); `direction` is `in`, `out` or `inout`. Frames are kept `whole`, or 256 bytes of
    each.
    """

    def __init__(
        self, node: str, interface: str, expression: str, direction: str = "inout", *, whole: bool = False
    ) -> None:
        LAB.mkdir(parents=True, exist_ok=True)
        self._directory = tempfile.TemporaryDirectory(prefix="capture-", dir=LAB)
        self.path = Path(self._directory.name) / "capture.pcap"
        argv = ["tcpdump", "-i", interface, "-n", "-s", "0" if whole else "256", "-U", "--immediate-mode", "-Z", "root"]
        if whole:  # each slot of the kernel's buffer holds the largest frame: some 30 in the usual 2 MiB
            argv += ["-B", "32768"]
        argv += ["-Q", direction, "-w", str(self.path), expression]
        self._errors = (Path(self._directory.name) / "errors").open("w+")
        self._process = subprocess.Popen(
            netns.command(netns.PREFIX + node, argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )
        deadline = time.monotonic() + 10
        while "listening on" not in self._said():
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = self._said().strip()
                self.close()
                raise LabError(f"tcpdump at {node}, {interface}: {said or 'no answer'}")
            time.sleep(0.01)

    def stop(self) -> list[Frame]:
        """End the capture and return its frames in the order in which they were seen."""
        self._end()
        shown = subprocess.run(
            ["tcpdump", "-n", "-tt", "-r", str(self.path)], capture_output=True, text=True, check=False
        ).stdout
        self.close()
        return [Frame(float(at), text) for at, text in _LINE.findall(shown)]

    def frames(self) -> list[tuple[float, bytes]]:
        """End the capture and return the bytes of its frames, each with its time. Raises LabError if the kernel had no
        room for some."""
        self._end()
        said, found = self._said(), list(frames(self.path.read_bytes()))
        self.close()
        if (dropped := _DROPPED.search(said)) is None or dropped[1] != "0":
            raise LabError(f"the capture is not complete: {said.strip()}")
        return found

    def _end(self) -> None:
        if self._process.poll() is None:
            time.sleep(0.2)  # the last frames are on their way to tcpdump, which drops them at its end
            self._process.send_signal(signal.SIGINT)
            self._process.wait(10)

    def close(self) -> None:
        """End the capture without reading it."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._errors.close()
        self._directory.cleanup()

    def _said(self) -> str:
        return (Path(self._directory.name) / "errors").read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._errors.closed:
            self.close()
