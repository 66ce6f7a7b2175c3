"""The base memory of an image: the distinct pages of one booted machine that belongs to nobody. Machines of the image
have many of the same pages, so that weft-transfer need not send those (docs/operate/qemu.md, "Thin lines").

A base memory is a file of the image's folder, `memory.` and its SHA-256, and is copied to other cloudlets like the
image.
"""

import asyncio
import hashlib
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from agents import command
from agents.hypervisors.hypervisor import HypervisorError, Refused, Site
from agents.hypervisors.qemu import overlay, process, source, thin_line
from agents.hypervisors.qemu.accelerator import accelerator, version
from agents.hypervisors.qemu.command_line import command_line
from agents.hypervisors.qemu.guest_agent import GuestAgent
from agents.hypervisors.qemu.image import image
from agents.hypervisors.qemu.monitor import Monitor
from agents.hypervisors.weft_transfer import PROGRAM
from agents.storage import durable
from controller.wire.machines import Disk, Machine
from controller.wire.platforms import BASE

_MTU = 1400
_SETTLE = 5.0  # seconds that a booted guest gets for the rest of its start
_STORE = 120.0
_POLL = 0.1


async def make(site: Site, name: str, memory: int, seconds: float) -> Path:
    """Boot a machine of an image, with so many bytes of memory and no network, and store its base memory in the place
    of earlier ones. The machine is ready when an agent in the guest answers, or after so many seconds. Raises
    HypervisorError."""
    await version()
    if shutil.which(PROGRAM) is None:
        raise Refused(f"{PROGRAM} is not installed")
    site.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".base-", dir=site.state_dir) as temporary:
        folder = Path(temporary)
        try:
            await _boot(site, await _machine(site, name, memory), folder)
            await _ready(folder, seconds)
            stored = await _store(folder, site.images / name / ".memory")
        finally:
            await process.end(folder)
    return _place(stored)


async def _machine(site: Site, name: str, memory: int) -> Machine:
    macs = ("02:00:00:00:00:01", "02:00:00:00:00:02")
    plain = Machine(name="base", driver="qemu", image=name, memory=memory, macs=macs)
    base = site.images / name / BASE
    if not base.is_file():
        return plain
    return plain.model_copy(update={"disk": Disk(base=name, bytes=await overlay.size(base))})


async def _boot(site: Site, machine: Machine, folder: Path) -> None:
    files = image(site.images, machine)
    runs = await accelerator(site.state_dir, site.images, site.options)
    await overlay.make(machine, folder, files, fresh=True)
    monitor = Monitor(machine.name, folder / "monitor")

    async def begin() -> None:
        await monitor.execute("cont")

    await process.spawn(folder, command_line(machine, folder, files, runs, _MTU, incoming=False, network=False), begin)


async def _ready(folder: Path, seconds: float) -> None:
    """Wait until the guest has booted. Raises HypervisorError if it has ended."""
    agent = GuestAgent("base", folder / "agent")
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                with suppress(HypervisorError):
                    if await agent.answers():
                        return await asyncio.sleep(_SETTLE)
                if process.find(folder) is None:
                    raise HypervisorError(f"the guest ended while it booted: {process.said(folder)}")
                await asyncio.sleep(_POLL)


async def _store(folder: Path, to: Path) -> Path:
    """Stop the machine and store its pages. Raises HypervisorError."""
    monitor, socket = Monitor("base", folder / "monitor"), folder / "transfer"
    await monitor.execute("stop")
    words = (PROGRAM, "store", "--qemu", str(socket), "--memory", str(to))
    storing = asyncio.create_task(command.run(*words, seconds=_STORE))
    try:
        while True:
            if socket.is_socket() or storing.done():
                break
            await asyncio.sleep(_POLL)
        address = {"transport": "socket", "type": "unix", "path": str(socket)}
        async with monitor.session() as session:
            if not storing.done():
                await session.execute("migrate-set-parameters", {"max-bandwidth": 10**12})
                await session.execute("migrate", {"channels": [{"channel-type": "main", "addr": address}]})
            while True:
                if storing.done():
                    break
                state, info = await source.status(session)
                if state in ("failed", "cancelled"):
                    raise HypervisorError(f"QEMU does not give its memory: {info.get('error-desc', state)}")
                await asyncio.sleep(_POLL)
        ended = await storing
    except TimeoutError:
        raise HypervisorError(f"{PROGRAM} did not store the memory within {_STORE:g} s") from None
    finally:
        storing.cancel()
    if ended.code:
        raise HypervisorError(ended.complaint.strip())
    return to


def _place(stored: Path) -> Path:
    """Give a stored base memory its name, and delete those before it."""
    with stored.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    place = stored.with_name(f"memory.{digest}")
    durable.rename(stored, place)
    for _, path in thin_line.base_memories(stored.parent.parent, stored.parent.name):
        if path != place:
            path.unlink()
    return place
