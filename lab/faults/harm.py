"""The harm that a fault does, and how it is undone."""

import os
import signal
import socket
import time
from pathlib import Path

from agents.hypervisors.qemu import process
from agents.hypervisors.short_path import short
from controller.core.saga.steps import Step
from lab import netns
from lab.faults import census
from lab.faults.cases import Case, Fault
from lab.patience import until
from lab.plan import Line
from lab.region import Region
from lab.walk import lose, walk

DEVICE = census.DEVICE
HOME, ELSEWHERE = "c3", "c4"
"""The cloudlet where the device is, and the one that it walks to."""

DOWN = 2.0
"""Seconds for which a killed daemon stays away."""

_STARTS = 20.0
"""Seconds within which the destination has a QEMU, once it has the order to prepare for one."""

_TABLE = "inet weft-faults"
_TOO_LITTLE = "64m"


class Harm:
    """The harm of one case, for a move from `source` to `destination`. It is undone `lasts` seconds after it was
    done."""

    def __init__(self, region: Region, case: Case, source: str, destination: str) -> None:
        self._region, self._case = region, case
        self._source, self._destination = source, destination
        self.lasts = case.seconds or DOWN

    def prepare(self) -> None:
        """Make the conditions that the harm needs before the move begins."""
        match self._case.fault:
            case Fault.FULL:
                self._mount(_TOO_LITTLE)
            case Fault.DEVICE_DEAF:
                self._limits(0)

    def do(self) -> bool:
        """Do the harm, as fast as possible. Return whether it was done: a process that does not run (any more, or yet)
        cannot be killed."""
        killed = self._killed()
        match self._case.fault:
            case _ if killed is not None:
                ran = self._region.processes[killed].alive()
                self._region.processes[killed].kill()
                return ran
            case Fault.KILL_SOURCE_QEMU:
                return kill_qemu(census.folder(self._source))
            case Fault.KILL_DESTINATION_QEMU:
                return kill_qemu(census.folder(self._destination), _STARTS if self._case.step is Step.PREPARE else 0.0)
            case Fault.CUT_SOURCE | Fault.CUT_DESTINATION | Fault.CUT_PATH:
                self._cut(True)
            case Fault.GUEST_SILENT:
                self._guest("killall -STOP qemu-ga")
            case Fault.GUEST_GARBLES:
                self._guest("touch /run/garble; killall qemu-ga")
            case Fault.DEVICE_GONE:
                lose(self._region, DEVICE)
            case Fault.DEVICE_WALKS:
                walk(self._region, DEVICE, ELSEWHERE)
        return True

    def take_back(self) -> None:
        """Undo the harm, as far as that is possible."""
        killed = self._killed()
        match self._case.fault:
            case _ if killed is not None:
                if not self._region.processes[killed].alive():
                    self._region.processes[killed].start()
            case Fault.CUT_SOURCE | Fault.CUT_DESTINATION | Fault.CUT_PATH:
                self._cut(False)
            case Fault.FULL:
                self._within(["umount", "-l", self._folder()])
            case Fault.GUEST_SILENT:
                self._guest("killall -CONT qemu-ga")
            case Fault.GUEST_GARBLES:
                self._guest("rm /run/garble; killall garble")
            case Fault.DEVICE_DEAF:
                self._limits(8)
            case Fault.DEVICE_GONE:
                self._region.execute(DEVICE, ["ip", "link", "set", "eth0", "up"], check=True)
                self._region.processes[f"{DEVICE}-dhcp"].start()
            case Fault.DEVICE_WALKS:
                walk(self._region, DEVICE, HOME)

    @property
    def at_the_end(self) -> bool:
        """Whether the harm is undone only once the move is over."""
        return self._killed() is None and (self._case.seconds == 0 or self._case.seconds == float("inf"))

    def _killed(self) -> str | None:
        """Return the lab's name of the daemon that this fault kills, or None."""
        names: dict[Fault, str] = {
            Fault.KILL_SOURCE_AGENT: f"{self._source}-agent",
            Fault.KILL_DESTINATION_AGENT: f"{self._destination}-agent",
            Fault.KILL_CONTROLLER: "controller",
            Fault.KILL_ROUTE_SERVER: "rs1",
        }
        return names.get(self._case.fault)

    def _cut(self, cut: bool) -> None:
        for node, interfaces in self._ports().items():
            rules = f"add table {_TABLE}\ndelete table {_TABLE}\n"
            if cut:
                names = ", ".join(f'"{name}"' for name in interfaces)
                hook = "type filter hook prerouting priority -400; policy accept;"
                rules += f"table {_TABLE} {{ chain in {{ {hook} iifname {{ {names} }} drop; }}; }}\n"
            netns.execute(netns.PREFIX + node, ["nft", "-f", "-"], stdin=rules, check=True)

    def _ports(self) -> dict[str, list[str]]:
        """Return both ends of the lines that this fault cuts."""
        whose = {Fault.CUT_SOURCE: {self._source}, Fault.CUT_DESTINATION: {self._destination}}.get(self._case.fault)

        def concerned(line: Line) -> bool:
            nodes = {line.a.node, line.b.node}
            return nodes == {self._source, self._destination} if whose is None else bool(nodes & whose)

        found: dict[str, list[str]] = {}
        for line in filter(concerned, self._region.plan.lines):
            for port in (line.a, line.b):
                found.setdefault(port.node, []).append(port.name)
        return found

    def _folder(self) -> str:
        return str(census.folder(self._destination).parent)

    def _mount(self, size: str) -> None:
        self._within(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self._folder()])

    def _within(self, argv: list[str]) -> None:
        """Run a command in the destination agent's own mount namespace, which its QEMU shares, and below its root: the
        lab may be in a chroot, which a mount namespace does not know."""
        pid = self._region.processes[f"{self._destination}-agent"].pid
        netns.execute(netns.PREFIX + self._destination, ["nsenter", "-t", str(pid), "-m", "-r", *argv], check=True)

    def _limits(self, number: int) -> None:
        words = ["ip", "mptcp", "limits", "set", "subflows", str(number), "add_addr_accepted", str(number)]
        self._region.execute(DEVICE, words, check=True)

    def _guest(self, words: str) -> None:
        """Type words on the guest's console, where a shell waits as soon as the guest runs."""

        def running() -> list[str]:
            return [name for name in (self._source, self._destination) if census.condition(name) == "running"]

        until(lambda: bool(running()), "the guest runs", 30, pause=0.02)
        _say(census.folder(running()[0]) / "console", words)


def kill_qemu(folder: Path, seconds: float = 0.0) -> bool:
    """Kill the QEMU in a machine's folder. Return whether there was one, or came within so many seconds."""
    deadline = time.monotonic() + seconds
    while (pid := process.find(folder)) is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended just now
        return False
    return True


def _say(console: Path, words: str) -> None:
    with short(console) as path, socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        line.sendall(f"\n{words}\n".encode())
        time.sleep(0.5)
