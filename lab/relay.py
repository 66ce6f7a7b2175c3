"""A WAN between two namespaces of a benchmark's own: the lab's relay in a third one, with a rate and a round trip."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress

from lab.paths import BIN

LIMIT = 1000
"""Packets that wait for a line at most."""


class Relay:
    """Lines are laid first, then it starts. Everything of it is gone after close."""

    def __init__(self, namespace: str, rtt_ms: float) -> None:
        self._namespace, self._rtt = namespace, rtt_ms
        self._lines: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._ip("netns", "add", namespace)

    def lay(self, name: str, ends: Sequence[str], mbit: float) -> None:
        """A line between two namespaces; its ends are called `name` there."""
        inner = [f"{name}-{side}" for side in "ab"]
        for end, own in zip(ends, inner, strict=True):
            self._ip("-n", end, "link", "add", name, "type", "veth", "peer", "name", own, "netns", self._namespace)
            self._ip("-n", self._namespace, "link", "set", own, "up")
            for space, device in ((end, name), (self._namespace, own)):  # the relay has no room for larger than a frame
                off = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
                self._ip("netns", "exec", space, "ethtool", "-K", device, *off)
        self._lines.append(f"{name},{','.join(inner)},{self._rtt * 500:.0f},0,0,{mbit * 1000:.0f},{LIMIT}")

    def start(self) -> None:
        words = ["ip", "netns", "exec", self._namespace, str(BIN / "wanrelay"), *self._lines]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        with suppress(subprocess.CalledProcessError):
            self._ip("netns", "del", self._namespace)

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)
