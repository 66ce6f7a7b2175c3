"""The machine that moves, and the work of its guest meanwhile."""

import json
from pathlib import Path
from typing import Any

from agents.hypervisors.hypervisor import Answering, HypervisorError
from agents.hypervisors.qemu.monitor import Monitor
from controller.wire.machines import Machine
from lab.hosts import Host
from lab.patience import until

NAME = "vm1"
MEMORY = 256 << 20
PATTERN = ("memory", "start", "mib=48", "rate=4")
"""The order for pages with a known pattern, each checked before it is written again."""

CHURN = "while :; do head -c 262144 /dev/urandom | md5sum >/tmp/churn; cp /tmp/churn /tmp/churn2; done"
"""A script whose processes come and go, and with them stacks, page tables and files: pages that the kernel reuses at
once."""


def machine(driver: str, vcpus: int) -> Machine:
    """Return the machine. It has no disk, so every byte of it is in memory."""
    macs = ("52:54:00:00:00:0a", "52:54:00:00:00:0b")
    return Machine(name=NAME, driver=driver, image="lab", memory=MEMORY, vcpus=vcpus, macs=macs)


def busy(host: Host, vcpus: int) -> None:
    """Wait until the guest has booted, and let it work on all of its virtual CPUs. Raises HypervisorError."""
    until(lambda: _listens(host), seconds=120)
    _ask(host, *PATTERN)
    for _ in range(vcpus):
        script = f"setsid sh -c '{CHURN}' >/dev/null 2>&1 </dev/null &"
        host.do(host.driver.guest(NAME, "sh", "-c", script, seconds=90))


def _listens(host: Host) -> bool:
    """Return whether the guest answers. A guest that boots opens its end of the channel more than once, so a question
    meanwhile may get no answer."""
    assert isinstance(host.driver, Answering)
    try:
        return host.do(host.driver.answers(NAME))
    except HypervisorError:
        return False


def ails(host: Host) -> str:
    """Return what is wrong with the guest; empty if it answers, and its pattern is as it wrote it."""
    try:
        verdict = _ask(host, "memory", "verdict")
    except (HypervisorError, ValueError, TimeoutError) as error:
        return f"it does not answer: {error}"
    return "" if verdict["wrong"] == 0 and verdict["written"] else f"its pattern: {verdict}"


def _ask(host: Host, *words: str) -> dict[str, Any]:
    said = host.do(host.driver.guest(NAME, "weft-work", "ask", "127.0.0.1", *words, seconds=60))
    found: dict[str, Any] = json.loads(said)
    return found


def monitor(host: Host) -> Monitor:
    """Return a monitor of the machine there, beside the driver's own."""
    return Monitor(NAME, Path(host.state) / NAME / "monitor")
