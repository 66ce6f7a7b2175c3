"""The accelerator that runs guests' instructions here. It is found once, by booting a kernel, since a KVM device that
opens need not work."""

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agents import command
from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.qemu.command_line import PROGRAM, Accelerator
from agents.storage import durable

OLDEST = 10
KVM = Path("/dev/kvm")
_BOOT = {"kvm": 15.0, "tcg": 60.0}  # seconds
_BOOTED = b"VFS: Unable to mount root fs"  # the last message of a kernel that finds no root file system
PROCESSORS = {"kvm": "host", "tcg": "max,-la57"}
"""The CPU that guests see, by accelerator: with 5-level paging Linux 6.12 does not boot under TCG."""

_VERSION = re.compile(r"version (\d+)\.(\d+\S*)")


async def version() -> str:
    """Return the version of the installed QEMU. Raises Refused if there is none, or if that version corrupts guests."""
    if shutil.which(PROGRAM) is None:
        raise Refused(f"{PROGRAM} is not installed; QEMU {OLDEST} or later is needed")
    match = _VERSION.search((await command.run(PROGRAM, "--version")).out)
    if match is None:
        raise Refused(f"{PROGRAM} does not tell its version")
    found = f"{match[1]}.{match[2]}"
    if int(match[1]) < OLDEST:
        raise Refused(f"QEMU is {found}; {OLDEST} or later is needed: 7.2 corrupts guests with two CPUs in a move")
    return found


async def accelerator(state: Path, images: Path, options: Mapping[str, str]) -> Accelerator:
    """Return the accelerator: the option `accelerator`, else the first of KVM and TCG that boots a kernel, which is
    stored in `state`. The option `cpu` is QEMU's name of the CPU that guests see. Raises HypervisorError."""
    name = options.get("accelerator") or await _found(state, images)
    if name not in PROCESSORS:
        raise Refused(f"accelerator {name!r} is none of {', '.join(PROCESSORS)}")
    return Accelerator(name, options.get("cpu", PROCESSORS[name]))


async def _found(state: Path, images: Path) -> str:
    path, running = state / "accelerator.json", await version()
    with suppress(OSError, ValueError):
        kept = json.loads(path.read_text())
        if kept["qemu"] == running and (kept["name"] == "tcg" or KVM.exists()):
            return str(kept["name"])
    kernel = next(iter(sorted(images.glob("*/kernel"))), None)
    if kernel is None:
        raise HypervisorError(f"no image in {images} has a kernel to try KVM with: set the option 'accelerator'")
    for name in ("kvm", "tcg") if KVM.exists() else ("tcg",):
        if await boots(name, kernel):
            state.mkdir(parents=True, exist_ok=True)
            durable.replace(path, json.dumps({"qemu": running, "name": name}))
            return name
    raise HypervisorError(f"QEMU {running} boots {kernel} neither with KVM nor without")


async def boots(name: str, kernel: Path) -> bool:
    """Return whether that accelerator boots a kernel: one that opens may still run nothing."""
    with tempfile.TemporaryDirectory() as folder:
        console = Path(folder) / "console"
        argv = [PROGRAM, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-m", "256"]
        argv += ["-accel", name, "-cpu", PROCESSORS[name], "-serial", f"file:{console}", "-kernel", str(kernel)]
        argv += ["-append", "console=ttyS0 panic=-1"]
        with suppress(TimeoutError):
            await command.run(*argv, seconds=_BOOT[name])
        return console.is_file() and _BOOTED in console.read_bytes()
