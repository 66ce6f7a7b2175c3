"""A WAN between a benchmark's own namespaces: the lab's relay in a third namespace, with a rate and a round trip."""

import subprocess
from contextlib import suppress

from lab.paths import BIN

LIMIT = 1000
"""Most packets of FULL octets that wait for a line: 34 ms of them at 350 Mbit/s."""

FULL = 1500
FASTEST = 10_000.0
"""Mbit/s that a line without a rate counts as when its room for packets is computed."""


class Relay:
    """The relay. Lines are laid first, then it starts. They lose `loss` per cent of the packets. `close` removes
    everything."""

    def __init__(self, namespace: str, rtt_ms: float, loss: float = 0.0) -> None:
        self._namespace, self._rtt, self._loss = namespace, rtt_ms, loss
        self._lines: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._ip("netns", "add", namespace)

    def lay(self, one: str, device: str, other: str, other_device: str, mbit: float) -> None:
        """Lay a line between devices that are made in two namespaces, up at both ends."""
        inner = [f"{device}-{side}" for side in "ab"]
        for end, name, own in zip((one, other), (device, other_device), inner, strict=True):
            self._ip("-n", end, "link", "add", name, "type", "veth", "peer", "name", own, "netns", self._namespace)
            for space, interface in ((end, name), (self._namespace, own)):
                off = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")  # it has room for single frames only
                self._ip("netns", "exec", space, "ethtool", "-K", interface, *off)
                self._ip("-n", space, "link", "set", interface, "up")
        lost = round(self._loss * 10_000)  # parts per million
        self._lines.append(
            f"{device},{','.join(inner)},{self._rtt * 500:.0f},0,{lost},{mbit * 1000:.0f},{self._room(mbit)}"
        )

    def start(self) -> None:
        words = ["ip", "netns", "exec", self._namespace, str(BIN / "wanrelay"), *self._lines]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)

    def _room(self, mbit: float) -> int:
        """Return the number of packets that the relay has to hold: those that wait, and those on their way for half a
        round trip."""
        return LIMIT + round((mbit or FASTEST) * 1e6 / 8 / FULL * self._rtt / 2000)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        with suppress(subprocess.CalledProcessError):
            self._ip("netns", "del", self._namespace)

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)
