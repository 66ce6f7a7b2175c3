"""The steps of docs/operate/upgrade.md on a region of the lab: commands, restarts, and pings meanwhile."""

import signal
import subprocess
import time
from collections.abc import Callable

from lab.paths import ROOT
from lab.ping import PingStream
from lab.region import Region

PING_SECONDS = 0.005


def weft(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(ROOT / "build/venv/bin/weft"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def well(*arguments: str, seconds: float = 60) -> str:
    """Wait until a `weft` command reports no problem; return its output."""
    deadline = time.monotonic() + seconds
    while (done := weft(*arguments)).returncode:
        assert time.monotonic() < deadline, f"weft {' '.join(arguments)}: {done.stdout}{done.stderr}"
        time.sleep(0.2)
    return done.stdout


def restart(region: Region, name: str, number: int = signal.SIGTERM) -> None:
    """Restart a process like systemctl: send SIGTERM (or another signal), and start the process when it has ended."""
    process = region.processes[name]
    if number == signal.SIGTERM:
        process.stop()
    else:
        process.kill(number)
    process.start()


def under_ping(region: Region, step: Callable[[], None]) -> None:
    """Do a step while members of both kinds of pools ping each other. No ping may be lost."""
    pairs = [("m1", "v2"), ("m2", "v1"), ("n1", "n2"), ("n2", "n1")]
    streams: list[PingStream] = []
    try:
        streams += [region.ping(one, region.address(other), PING_SECONDS) for one, other in pairs]
        time.sleep(0.5)
        step()
        time.sleep(1)
    finally:
        results = [stream.stop() for stream in streams]
    assert all(result.sent > 100 for result in results)
    assert [result.lost for result in results] == [0] * len(pairs)
