"""The program `weft-guest` for a container (docs/operate/guests.md). It runs beside the container, in its sandbox's
network, so that no image needs it."""

import shutil
from contextlib import suppress
from pathlib import Path

from agents.hypervisors.container.sandbox import Sandbox
from agents.hypervisors.container.vnics import DEVICES
from agents.hypervisors.detached import detached
from agents.hypervisors.hypervisor import HypervisorError, Refused
from controller.wire.machines import client_id

PROGRAM = "weft-guest"
GUEST = "guest"
"""The folder of what the program knows: leases, and which vNIC serves."""

_ETC = "guest-etc"
_KEPT = ("lease", "lease6", "parked")
_LOG = "guest.log"
_SYSFS = 'mount -t sysfs sysfs /sys && exec "$@"'  # /sys/class/net is that of the network in which it was mounted


class Guest:
    """The guest program of the container of `folder`."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self._folder, self._sandbox = folder, sandbox

    def configure(self, name: str) -> None:
        """Write its configuration, without Multipath TCP, which is off in the sandbox."""
        etc = self._folder / _ETC
        etc.mkdir(mode=0o700, exist_ok=True)
        (self._folder / GUEST).mkdir(mode=0o700, exist_ok=True)
        lines = [f"A={DEVICES['a']}", f"B={DEVICES['b']}", f"CLIENT={client_id(name)}", "MPTCP=no"]
        (etc / "guest.conf").write_text("".join(f"{line}\n" for line in lines))

    async def watch(self) -> None:
        """Have it lease addresses from now on, unless it does. Raises HypervisorError."""
        if self._watches():
            return
        try:
            async with detached(self._folder, self._argv("watch"), self._folder / _LOG):
                pass
        except OSError as error:
            raise HypervisorError(f"{self._folder.name}: {PROGRAM} cannot be started: {error.strerror}") from error

    def _watches(self) -> bool:
        own = f"WEFT_RUN={self._folder / GUEST}".encode()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has ended
                words = path.read_bytes().split(b"\0")
                if own in words and b"watch" in words:
                    return True
        return False

    async def arrive(self) -> None:
        """Put back the addresses with which the container came, before it runs. Raises HypervisorError."""
        for path in (self._folder / GUEST).iterdir():
            nic, _, what = path.name.partition(".")
            if path.name != "serving" and not (nic in DEVICES and what in _KEPT):
                path.unlink()  # of processes that are elsewhere
        await self.run("arrive")

    async def run(self, *arguments: str, seconds: float = 30.0) -> str:
        """Run one of its commands, and return the answer. Raises HypervisorError."""
        return await self._sandbox.run(*self._words(*arguments), seconds=seconds)

    def _argv(self, *arguments: str) -> list[str]:
        return self._sandbox.inside(*self._words(*arguments))

    def _words(self, *arguments: str) -> list[str]:
        installed = shutil.which(PROGRAM)
        if installed is None:
            raise Refused(f"{PROGRAM} is not installed (docs/operate/containers.md)")
        places = {"WEFT_ETC": self._folder / _ETC, "WEFT_RUN": self._folder / GUEST}
        environment = ["env", *(f"{name}={path}" for name, path in places.items())]
        return ["unshare", "--mount", "sh", "-c", _SYSFS, PROGRAM, *environment, installed, *arguments]
