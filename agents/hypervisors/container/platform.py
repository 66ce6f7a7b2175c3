"""The platform that containers find at a cloudlet: kernel, CRIU, processor and images."""

import asyncio
import os
import re
import shutil
from pathlib import Path

from agents.hypervisors.container.dumps import MOST
from agents.hypervisors.container.guest import PROGRAM
from agents.hypervisors.container.image import Images
from agents.hypervisors.container.sandbox import finished
from agents.hypervisors.hypervisor import HypervisorError, Refused
from controller.wire.platforms import MANIFEST, MOST_IMAGES, Platform

OLDEST = (4, 2)
"""The first CRIU that dumps sockets on kernels of today (docs/operate/containers.md)."""

_NEEDED = ("runc", "criu", "umoci", "nsenter", "unshare", "nft", "ip", "ss", PROGRAM, "weft-transfer")
_CPU = Path("/proc/cpuinfo")
_LOOK = 30.0  # seconds


def image_file(image: str) -> str:
    """Return the name of an image's digest in a platform."""
    return f"{image}/{MANIFEST}"


async def versions() -> tuple[str, str]:
    """Return the versions of runc and CRIU. Raises Refused, naming what is missing or too old."""
    if missing := [name for name in _NEEDED if shutil.which(name) is None]:
        raise Refused(f"{', '.join(missing)}: not installed (docs/operate/containers.md)")
    runc = re.search(r"runc version (\S+)", await finished(["runc", "--version"], "runc", "runc"))
    criu = re.search(r"Version: (\d+)\.(\d+)(\S*)", await finished(["criu", "--version"], "criu", "criu"))
    if runc is None or criu is None:
        raise Refused("runc or CRIU does not say its version")
    if (int(criu[1]), int(criu[2])) < OLDEST:
        raise Refused(f"CRIU is {criu[1]}.{criu[2]}, and {OLDEST[0]}.{OLDEST[1]} or later is needed")
    try:
        await finished(["criu", "check"], "criu check", "CRIU", seconds=_LOOK)
    except HypervisorError as error:
        raise Refused(f"this kernel cannot move containers: {error}") from None
    if await chrooted():
        raise Refused(
            "the agent's root is a directory that it has changed into (chroot): CRIU restores nothing below one"
        )
    return runc[1], f"{criu[1]}.{criu[2]}"


async def tracked() -> bool:
    """Return whether this kernel notes which pages processes write, so that CRIU can leave out the others."""
    try:
        await finished(["criu", "check", "--feature", "mem_dirty_track"], "criu check", "CRIU", seconds=_LOOK)
    except HypervisorError:
        return False
    return True


async def chrooted() -> bool:
    """Return whether our root is another one than that of our mount namespace."""
    own, root = ["stat", "--format=%d:%i", "/"], "--mount=/proc/self/ns/mnt"
    return await finished(own, "stat", "root") != await finished(["nsenter", root, *own], "nsenter", "root")


class Here:
    """The platform here. Programs, kernel and processor are looked at once while the agent runs."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self._found: Platform | None = None
        self._lock = asyncio.Lock()

    async def look(self) -> Platform:
        """Return the platform with all images. Raises HypervisorError."""
        plain, names = await self.plain(), self._images.names()
        files = dict[str, str]()
        for name in names[:MOST_IMAGES]:
            try:
                files[image_file(name)] = self._images.digest(name)
            except Refused:
                continue
        return plain.model_copy(update={"files": files, "images": names if len(names) <= MOST_IMAGES else None})

    async def plain(self) -> Platform:
        """Return the platform without images. Raises HypervisorError."""
        async with self._lock:
            if self._found is None:
                runc, criu = await versions()
                vendor, model, features = processor(_CPU.read_text())
                kernel = ".".join(os.uname().release.split(".")[:2])
                self._found = Platform(
                    version=f"runc {runc}, CRIU {criu}",
                    board=f"Linux {kernel}",
                    accelerator=f"CRIU {criu}",
                    cpu=model,
                    vendor=vendor,
                    features=features,
                    rounds=MOST,
                )
            return self._found


def processor(text: str) -> tuple[str, str, list[str]]:
    """Return vendor, model and features of the first processor in /proc/cpuinfo (proc(5)). Pure."""
    found = dict(re.findall(r"^(vendor_id|model name|flags)\s*: (.*)$", text.split("\n\n")[0], re.MULTILINE))
    return found.get("vendor_id", "")[:100], found.get("model name", "")[:400], sorted(found.get("flags", "").split())
