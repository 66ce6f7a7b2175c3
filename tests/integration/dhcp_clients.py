"""Real DHCP clients in namespaces, and an address plan that answers the servers' requests."""

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

from agents.dhcp.lease_source import LeaseRefused
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from tests.integration.agent_namespaces import Namespace

PHONE, PHONES_VM, TABLET = "02:00:5e:00:00:01", "02:00:5e:00:00:02", "02:00:5e:00:00:03"


class Plan:
    """An address plan with `room` pairs, one for each device: the even address for the device, the odd one above it for
    its VM."""

    def __init__(self, room: int = 3, seconds: int = 600) -> None:
        self.room, self.seconds = room, seconds
        self.devices: list[str] = []
        self.machines = {PHONES_VM: PHONE}
        self.asked: list[LeaseRequest] = []
        self.released: list[LeaseRelease] = []
        self.declined: list[LeaseRelease] = []
        self.reachable = True

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        self.asked.append(request)
        await asyncio.sleep(0)
        if not self.reachable:
            raise ConnectionError("no controller")
        device = self.machines.get(request.mac, request.mac)
        if device not in self.devices:
            if len(self.devices) >= self.room:
                raise LeaseRefused(f"no pair is left in the plan of {request.endpoint}")
            self.devices.append(device)
        odd = request.mac in self.machines
        address = IPv4Address("10.1.0.2") + 2 * self.devices.index(device) + odd
        return LeaseGrant(
            address=str(address),
            prefix_length=24,
            gateway="10.1.0.1",
            kind="vm" if odd else "md",
            device=device,
            seconds=self.seconds,
        )

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        return await self.grant(request)

    async def release(self, release: LeaseRelease) -> None:
        self.released.append(release)

    async def decline(self, release: LeaseRelease) -> None:
        self.declined.append(release)


class Client:
    """A DHCP client that runs, and the log of its script."""

    def __init__(self, argv: list[str], space: Namespace, log: Path) -> None:
        self._log = log
        log.touch()
        log.chmod(0o666)
        self._output = log.with_suffix(".out").open("wb")
        command = ["ip", "netns", "exec", space.name, *argv]
        self.process = subprocess.Popen(command, stdout=self._output, stderr=self._output)

    async def news(self, *words: str, times: int = 1) -> str:
        """Return the log line of the `times`-th occurrence of one of `words`."""
        for _ in range(500):
            lines = [line for line in self._log.read_text().splitlines() if line.split()[0] in words]
            if len(lines) >= times:
                return lines[times - 1]
            await asyncio.sleep(0.02)
        raise AssertionError(f"no {words}: {self._log.read_text()}{self.said()}")

    async def end(self) -> int:
        """Wait until the client ends by itself; return its exit code."""
        return await asyncio.to_thread(self.process.wait, 10)

    def said(self) -> str:
        return self._log.with_suffix(".out").read_text()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._output.close()


class Clients:
    """The clients that a test starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Client] = []

    def start(self, space: Namespace, script: str, argv: Callable[[Path], list[str]]) -> Client:
        """Start a client. `script` handles its lease, and then writes to `{log}`; `argv` takes the script's path and
        returns the command."""
        log = self.folder / f"client-{len(self._started)}.log"
        path = log.with_suffix(".sh")
        path.write_text(script.replace("{log}", str(log)))
        path.chmod(0o755)
        self._started.append(Client(argv(path), space, log))
        return self._started[-1]

    def close(self) -> None:
        for client in self._started:
            client.close()


@contextmanager
def starting() -> Iterator[Clients]:
    """Yield clients with a directory that dhclient can write to after it has dropped its privileges."""
    folder = Path(tempfile.mkdtemp(prefix="weft-agx-dhcp-"))
    clients = Clients(folder)
    try:
        yield clients
    finally:
        clients.close()
        shutil.rmtree(folder)
