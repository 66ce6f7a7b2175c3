"""The platform that machines find: that of a QEMU that has been started, and that of this cloudlet, for plans."""

from dataclasses import dataclass
from pathlib import Path

from agents.hypervisors.hypervisor import Refused, Site
from agents.hypervisors.qemu import process
from agents.hypervisors.qemu.accelerator import accelerator, version
from agents.hypervisors.qemu.command_line import MACHINE_TYPE, PROGRAM, Accelerator
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.image import Image, names
from agents.hypervisors.qemu.monitor import Monitor, Session
from agents.hypervisors.qemu.processor import features, models
from controller.wire.machines import Machine
from controller.wire.platforms import BASE, FILES, MOST_IMAGES, CpuModel, Platform, differences, files

_PROBE = ".probe"  # not a valid name of a machine


async def platform(session: Session, machine: Machine, image: Image, runs: Accelerator, digests: Digests) -> Platform:
    """Return the platform of this machine's QEMU. Raises HypervisorError."""
    paths = {image.kernel, image.initramfs, image.base} - {None}
    names = {path: name for name in files(machine) for path in paths if path is not None and _is(path, name)}
    vendor, seen = await features(session, runs.cpu)
    return Platform(
        version=f"QEMU {await version()}",
        board=MACHINE_TYPE,
        accelerator=runs.name,
        cpu=runs.cpu,
        vendor=vendor,
        features=seen,
        files={name: await digests.of(path) for path, name in names.items()},
    )


def _is(path: Path, name: str) -> bool:
    return (path.parent.name, path.name) == tuple(name.split("/"))


@dataclass(frozen=True)
class _Processor:
    """The CPU that guests see here by default, and the models that they can be given."""

    vendor: str
    features: list[str]
    models: dict[str, CpuModel]


class Here:
    """The platform that this cloudlet's QEMU gives machines. Its CPU is found once while the agent runs, in a QEMU
    without a guest; files are checked at each call."""

    def __init__(self, site: Site, digests: Digests) -> None:
        self._site, self._digests = site, digests
        self._found: tuple[str, Accelerator, _Processor] | None = None

    async def look(self) -> Platform:
        """Return the platform. Raises HypervisorError."""
        now, runs = await version(), await accelerator(self._site.state_dir, self._site.images, self._site.options)
        if self._found is None or self._found[:2] != (now, runs):
            self._found = now, runs, await self._probe(runs)
        found = self._found[2]
        images = names(self._site.images)
        held = (self._site.images / image / name for name in (*FILES, BASE) for image in images[:MOST_IMAGES])
        return Platform(
            version=f"QEMU {now}",
            board=MACHINE_TYPE,
            accelerator=runs.name,
            cpu=runs.cpu,
            vendor=found.vendor,
            features=found.features,
            models=found.models,
            files={f"{path.parent.name}/{path.name}": await self._digests.of(path) for path in held if path.is_file()},
            images=images if len(images) <= MOST_IMAGES else None,
            direct=True,
        )

    async def _probe(self, runs: Accelerator) -> _Processor:
        folder = self._site.state_dir / _PROBE
        monitor, found = Monitor(_PROBE, folder / "monitor"), list[_Processor]()

        async def ask() -> None:
            async with monitor.session() as session:
                found.append(_Processor(*await features(session, runs.cpu), await models(session, runs.cpu)))

        argv = [PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-pidfile", str(folder / "pid"), "-S"]
        argv += ["-machine", MACHINE_TYPE, "-accel", runs.name, "-cpu", runs.cpu, "-m", "16"]
        argv += [
            "-chardev",
            "socket,id=monitor,path=monitor,server=on,wait=off",
            "-mon",
            "chardev=monitor,mode=control",
        ]
        try:
            await process.end(folder)
            await process.spawn(folder, argv, ask)
        finally:
            await process.end(folder)
        return found[-1]


def compare(machine: Machine, here: Platform, there: Platform) -> None:
    """Raise Refused, naming every difference, if the machine cannot go from here to there."""
    if found := differences(machine, here, there):
        raise Refused(f"{machine.name} would not be the same there: {'; '.join(found)}")
