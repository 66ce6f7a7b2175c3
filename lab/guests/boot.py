"""Boots a guest for the lab's own tests: QEMU with a serial console, QMP and the guest agent. The hypervisor driver is
`agents/hypervisors/qemu`; this module boots one guest and moves nothing."""

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.hypervisors.qemu.accelerator import PROCESSORS
from agents.hypervisors.qemu.command_line import PROGRAM
from lab import netns
from lab.errors import LabError

PORT = "org.qemu.guest_agent.0"


@dataclass(frozen=True)
class Nic:
    """A vNIC on the tap `tap`, which QEMU makes in its namespace. `up` says that its cable is in."""

    tap: str
    mac: str
    up: bool = True


class Guest:
    """One QEMU, with its files in `directory`. The guest ends with its process, which `stop` kills, at any time and
    also twice."""

    def __init__(
        self,
        directory: Path,
        image: Path,
        *,
        accelerator: str = "tcg",
        memory: int = 256,
        disk: Path | None = None,
        nics: Sequence[Nic] = (),
        namespace: str | None = None,
        said: str = "",
    ) -> None:
        self._console = directory / "console"
        self._directory = directory
        cmdline = f"{(image / 'cmdline').read_text().strip()} {said}".strip()
        argv = [
            PROGRAM, "-nodefaults", "-display", "none", "-no-reboot", "-machine", "q35", "-m", str(memory),
            "-accel", accelerator, "-cpu", PROCESSORS[accelerator],
            "-kernel", str(image / "kernel"), "-initrd", str(image / "initramfs"), "-append", cmdline,
            "-serial", f"file:{self._console}", "-qmp", f"unix:{directory / 'qmp'},server=on,wait=off",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=ga,path={directory / 'agent'},server=on,wait=off",
            "-device", f"virtserialport,chardev=ga,name={PORT}",
        ]  # fmt: skip
        if disk is not None:
            argv += ["-drive", f"file={disk},if=virtio,format=qcow2"]
        for number, nic in enumerate(nics):
            argv += ["-netdev", f"tap,id=net{number},ifname={nic.tap},script=no,downscript=no"]
            argv += ["-device", f"virtio-net-pci,netdev=net{number},id=nic{number},mac={nic.mac},romfile="]
        if namespace is not None:
            argv = netns.command(namespace, argv)
        with (directory / "qemu.log").open("wb") as log:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._qmp = Channel(directory / "qmp", self._process)
        self._qmp.receive()
        self.qmp("qmp_capabilities")
        for number, nic in enumerate(nics):
            if not nic.up:
                self.link(number, False)
        self._agent = Channel(directory / "agent", self._process)

    def console(self) -> str:
        """Return all output of the serial console."""
        return self._console.read_text(errors="replace") if self._console.exists() else ""

    def wait_ready(self, seconds: float = 60) -> float:
        """Wait until the guest is ready, and return the seconds that it took from the call. Raises LabError with the
        console's last lines."""
        began = time.monotonic()
        while "weft: ready" not in self.console():
            if self._process.poll() is not None or time.monotonic() > began + seconds:
                log = (self._directory / "qemu.log").read_text(errors="replace")
                raise LabError(f"the guest was not ready within {seconds:g} s: {log} {self.console()[-600:]}")
            time.sleep(0.02)
        return time.monotonic() - began

    def qmp(self, command: str, **arguments: object) -> Any:
        return self._qmp.ask(command, arguments)

    def link(self, nic: int, up: bool) -> None:
        """Plug the cable of a vNIC in, or out."""
        self.qmp("set_link", name=f"nic{nic}", up=up)

    def agent(self, command: str, **arguments: object) -> Any:
        """Ask the guest agent. Raises LabError when it refuses, or does not answer."""
        return self._agent.ask(command, arguments)

    def run(self, *argv: str, seconds: float = 30) -> str:
        """Run a program in the guest, and return its output. Raises LabError when it fails."""
        settings = {"path": argv[0], "arg": list(argv[1:]), "capture-output": True}
        pid = self.agent("guest-exec", **settings)["pid"]
        deadline = time.monotonic() + seconds
        while not (state := self.agent("guest-exec-status", pid=pid))["exited"]:
            if time.monotonic() > deadline:
                raise LabError(f"'{' '.join(argv)}' did not end in the guest within {seconds:g} s")
            time.sleep(0.02)
        out, err = (base64.b64decode(state.get(key, "")).decode() for key in ("out-data", "err-data"))
        if state.get("exitcode"):
            raise LabError(f"'{' '.join(argv)}' failed in the guest: {(err or out).strip()}")
        return out

    def stop(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for channel in ("_qmp", "_agent"):
            if hasattr(self, channel):
                getattr(self, channel).close()


class Channel:
    """A socket of QEMU's with lines of JSON as questions and answers."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes], seconds: float = 20) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    log = (path.parent / "qemu.log").read_text(errors="replace").strip()
                    raise LabError(f"QEMU does not run: {log}") from None
                time.sleep(0.02)
        self._lines = self._socket.makefile("rb")

    def receive(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line:
            raise LabError("QEMU, or the guest, does not answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, command: str, arguments: dict[str, object]) -> Any:
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while "event" in (answer := self.receive()):
            pass
        if "error" in answer:
            raise LabError(f"{command}: {answer['error']['desc']}")
        return answer["return"]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
