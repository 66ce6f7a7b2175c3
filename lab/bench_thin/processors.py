"""The processor time of a move: QEMU's without its virtual CPUs', and weft-transfer's, at both ends."""

import os
from pathlib import Path

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.vm import Vm
from lab.hosts import Host


class Processors:
    """The processor time of one move of a machine. The caller says where its source is (`begin`, `end`)."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._before = self._source = 0.0

    def begin(self, source: Host) -> None:
        self._before = self._qemu(source)

    def end(self, source: Host) -> None:
        """Look for the last time before the source's QEMU ends."""
        self._source = self._qemu(source) + self._transfers(source)

    def seconds(self, destination: Host) -> float:
        return self._source - self._before + self._qemu(destination) + self._transfers(destination)

    def _qemu(self, host: Host) -> float:
        try:
            cpus = host.do(Vm(host.state / self._name).monitor.execute("query-cpus-fast"))
            process = Path(f"/proc/{host.pid(self._name)}")
            guests = [process / "task" / str(cpu["thread-id"]) for cpu in cpus]
            return _seconds(process) - sum(_seconds(thread) for thread in guests)
        except (HypervisorError, OSError):
            return 0.0

    def _transfers(self, host: Host) -> float:
        vm = Vm(host.state / self._name)
        found = [host.do(one.status()) for one in (vm.transfer, vm.disk_transfer)]
        return sum(status.get("processor", 0.0) for status in found if status is not None)


def _seconds(process: Path) -> float:
    """Return the user and system time of a process or thread so far (proc(5), `stat`)."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
