"""Two places in which tests run the guest package: a namespace of this machine's kernel, and a booted guest."""

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Protocol

from lab import netns
from lab.errors import LabError
from lab.guests.accelerator import accelerator
from lab.guests.boot import Guest, Nic
from lab.guests.build import build
from lab.paths import GUESTS, ROOT
from lab.work import PROGRAM
from tests.integration import guest_lan

VM = f"{netns.PREFIX}guest-vm"
PACKAGE = ROOT / "lab/guests/package/weft-guest"


class Place(Protocol):
    """A machine with vNIC a in `lan1` and vNIC b in `lan2`. B's cable is unplugged, and `weft-work` serves."""

    def run(self, *words: str) -> dict[str, Any]:
        """Return the answer of `weft-guest`. Raises LabError with its error text."""

    def cable(self, nic: str, up: bool) -> None: ...


class Space:
    """A namespace: fast, and with this machine's kernel. Its processes are added to `started`; the caller ends them."""

    def __init__(self, directory: Path, started: list[subprocess.Popen[bytes]], client: str = guest_lan.CLIENT) -> None:
        self._started = started
        (directory / "client").write_text(f"{client}\n")
        self._environment = {**os.environ, "WEFT_ETC": str(directory), "WEFT_RUN": str(directory / "run")}
        netns.create([VM], guest_lan.MARK)
        netns.cables([((guest_lan.LANS, f"vm{number}"), (VM, f"eth{number}")) for number in (0, 1)])
        ports = [f"link set vm{number} master lan{number + 1}" for number in (0, 1)]
        netns.configure(guest_lan.LANS, sysctl={}, ip=[*ports, "link set vm0 up"])
        self._start(["sh", str(PACKAGE), "watch"], directory / "watch.log")
        self._start([str(PROGRAM), "serve"], directory / "work.log")

    def _start(self, argv: list[str], log: Path) -> None:
        with log.open("wb") as file:
            argv, environment = netns.command(VM, argv), self._environment
            self._started.append(
                subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
            )

    def run(self, *words: str) -> dict[str, Any]:
        argv = netns.command(VM, ["sh", str(PACKAGE), *words])
        done = subprocess.run(argv, env=self._environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(done.stderr.strip())
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def cable(self, nic: str, up: bool) -> None:
        port = f"vm{'ab'.index(nic)}"
        netns.configure(guest_lan.LANS, sysctl={}, ip=[f"link set {port} {'up' if up else 'down'}"])


class Booted:
    """A guest under KVM or TCG; its disk is an overlay of the shared one."""

    def __init__(self, directory: Path) -> None:
        image = build() / "lab"
        disk = directory / "disk"
        overlay = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(image / "disk.qcow2"), str(disk)]
        subprocess.run(overlay, check=True)
        self.guest = Guest(
            directory,
            image,
            accelerator=accelerator(GUESTS),
            disk=disk,
            nics=[Nic("vm0", "02:00:5e:00:00:0a"), Nic("vm1", "02:00:5e:00:00:0b", up=False)],
            namespace=guest_lan.LANS,
            said="weft.name=guest",
        )
        ports = [f"link set vm{number} master lan{number + 1} up" for number in (0, 1)]
        netns.configure(guest_lan.LANS, sysctl={}, ip=ports)
        self.seconds = self.guest.wait_ready()

    def run(self, *words: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.guest.run("weft-guest", *words, seconds=60))
        return answer

    def cable(self, nic: str, up: bool) -> None:
        self.guest.link("ab".index(nic), up)


def end(space: str) -> None:
    """Kill the processes in a namespace of these tests."""
    for pid in netns.pids(space):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
