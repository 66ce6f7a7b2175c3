"""The check that a cloudlet has the images that a VM needs. Pure."""

from controller.core.words import closest
from controller.wire.machines import Machine
from controller.wire.platforms import BASE, Platform


def lacking(machine: Machine, cloudlet: str, platform: Platform) -> tuple[str, str] | None:
    """Return which of the VM's fields names something that the cloudlet does not have, by what its agent reports, and a
    sentence about it; None if it has all, or if its agent reports no images."""
    if platform.images is None:
        return None
    if machine.image not in platform.images:
        return "image", f"{cloudlet} has no image '{machine.image}'{closest(machine.image, platform.images)[0]}"
    bases = [image for image in platform.images if f"{image}/{BASE}" in platform.files]
    if machine.disk is not None and machine.disk.base not in bases:
        return "disk", f"{cloudlet} has no base '{machine.disk.base}' for disks{closest(machine.disk.base, bases)[0]}"
    return None
