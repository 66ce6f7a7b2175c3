"""Shared images, from which machines boot and with which their disks begin.

An image is a folder below the site's images: `kernel`, `initramfs` and `cmdline` of an image, `disk.qcow2` of a base.
An image without a kernel boots from the machine's disk.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from agents.hypervisors.hypervisor import Refused
from agents.hypervisors.oci_layout import of_vms
from controller.wire.machines import Machine
from controller.wire.names import NAME_PATTERN

_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True)
class Image:
    """The files of a machine's image; None for a file that does not exist."""

    kernel: Path | None
    initramfs: Path | None
    cmdline: str
    base: Path | None


def names(images: Path) -> list[str]:
    """Return the names of all images that a machine can name, sorted; none if there is no such folder. Images of
    containers are left out."""
    if not images.is_dir():
        return []
    folders = (path for path in images.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())
    return sorted(folder.name for folder in folders if of_vms(folder) is not False)


def image(images: Path, machine: Machine) -> Image:
    """Return the files of the machine's image. Raises Refused if this cloudlet has no such image or base."""
    folder = images / machine.image
    if not folder.is_dir():
        raise Refused(f"{machine.name}: there is no image {machine.image!r} in {images}")
    base = None
    if machine.disk is not None:
        base = images / machine.disk.base / "disk.qcow2"
        if not base.is_file():
            raise Refused(f"{machine.name}: there is no base {machine.disk.base!r} in {images}")
    kernel, initramfs, cmdline = (folder / name for name in ("kernel", "initramfs", "cmdline"))
    if not kernel.is_file():
        if base is None:
            raise Refused(f"{machine.name}: image {machine.image!r} has no kernel, and the machine has no disk")
        return Image(None, None, "", base)
    text = cmdline.read_text().strip() if cmdline.is_file() else ""
    return Image(kernel, initramfs if initramfs.is_file() else None, text, base)
