"""A container's root file system: its own upper layer above the layers of its image (overlayfs)."""

import asyncio
import shutil
from pathlib import Path

from agents.hypervisors.container.bundle import ROOT
from agents.hypervisors.container.sandbox import Sandbox

UPPER = "upper"
"""The folder of what the container has written."""

_WORK = "work"  # of overlayfs
_FIELDS = str.maketrans({"\\": "\\\\", ":": "\\:", ",": "\\,"})  # which separate an option's


async def mount(folder: Path, sandbox: Sandbox, lower: Path) -> None:
    """Mount the root file system in the sandbox. Raises HypervisorError."""
    for name in (UPPER, ROOT):
        (folder / name).mkdir(mode=0o755, exist_ok=True)
    await asyncio.to_thread(shutil.rmtree, folder / _WORK, ignore_errors=True)
    (folder / _WORK).mkdir(mode=0o700)
    layers = {"lowerdir": lower, "upperdir": folder / UPPER, "workdir": folder / _WORK}
    options = ",".join(f"{name}={str(path).translate(_FIELDS)}" for name, path in layers.items())
    await sandbox.run("mount", "-t", "overlay", "overlay", "-o", options, str(folder / ROOT))
