"""The overlay of a machine's disk: a qcow2 file with all that the machine has written over the shared base. Only the
overlay moves."""

import shutil
from pathlib import Path

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents import command
from agents.answer import Unreadable, read_json
from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.qemu.command_line import overlay_path
from agents.hypervisors.qemu.image import Image
from controller.wire.machines import Machine

_Info = TypedDict("_Info", {"virtual-size": int})
_INFO = TypeAdapter(_Info)


async def make(machine: Machine, folder: Path, image: Image, fresh: bool) -> None:
    """Make an empty overlay, unless there is one; `fresh` makes a new one in any case. Raises Refused without enough
    room."""
    path = overlay_path(folder)
    if machine.disk is None or image.base is None or (path.exists() and not fresh):
        return
    base = await size(image.base)
    if base > machine.disk.bytes:
        raise Refused(f"{machine.name}: its disk has {machine.disk.bytes} bytes, its base {base}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if free < machine.disk.bytes:
        raise Refused(f"{machine.name}: its disk may take {machine.disk.bytes} bytes; {path.parent} has {free} free")
    path.unlink(missing_ok=True)
    backing = ("-b", str(image.base.resolve()), "-F", "qcow2")
    await _img("create", "-q", "-f", "qcow2", *backing, str(path), str(machine.disk.bytes))


async def size(path: Path) -> int:
    """Return the bytes that a guest finds in an image."""
    try:
        return read_json(_INFO, await _img("info", "--output=json", "-U", str(path)))["virtual-size"]
    except Unreadable as error:
        raise HypervisorError(f"the answer of 'qemu-img info {path}' {error}") from None


async def _img(*arguments: str) -> str:
    try:
        ended = await command.run("qemu-img", *arguments)
    except OSError as error:
        raise HypervisorError(f"qemu-img: {error.strerror}; is it installed?") from error
    if ended.code:
        raise HypervisorError(f"qemu-img {arguments[0]}: {ended.complaint.strip()}")
    return ended.out
