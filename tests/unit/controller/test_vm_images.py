"""A VM boots from an image of its cloudlet: the controller checks this against agents' reports before a start is
ordered."""

import pytest

from controller.core.vm_images import lacking
from controller.wire.machines import Disk, Machine
from controller.wire.platforms import Platform
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_vm_cpus import start, stop, tell
from tests.unit.controller.vm_region import WEB, region

MACHINE = Machine(
    name="web", driver="qemu", image="debian", memory=1 << 28, macs=("02:00:5e:00:00:01", "02:00:5e:00:00:02")
)


def platform(*images: str, bases: tuple[str, ...] = ()) -> Platform:
    """Return the platform of a cloudlet with these images, some of which contain a disk's base."""
    files = {f"{base}/disk.qcow2": "a" * 64 for base in bases}
    return Platform(version="1", board="b", accelerator="tcg", cpu="max", files=files, images=list(images), models={})


@pytest.mark.parametrize(
    ("image", "base", "lacks"),
    [
        ("debian", None, None),
        ("debian", "debian", None),
        ("boots-from-disk", "debian", None),
        ("debain", None, ("image", "c1 has no image 'debain': did you mean 'debian'?")),
        ("nope", "debian", ("image", "c1 has no image 'nope'; known are boots-from-disk, debian")),
        ("debian", "debain", ("disk", "c1 has no base 'debain' for disks: did you mean 'debian'?")),
        ("debian", "boots-from-disk", ("disk", "c1 has no base 'boots-from-disk' for disks; known are debian")),
    ],
)
def test_what_a_cloudlet_lacks(image: str, base: str | None, lacks: tuple[str, str] | None) -> None:
    disk = Disk(base=base, bytes=1 << 30) if base is not None else None
    machine = MACHINE.model_copy(update={"image": image, "disk": disk})
    assert lacking(machine, "c1", platform("boots-from-disk", "debian", bases=("debian",))) == lacks


def test_a_cloudlet_without_images_lacks_any() -> None:
    assert lacking(MACHINE, "c1", platform()) == ("image", "c1 has no image 'debian'")


def test_of_a_cloudlet_that_tells_of_none_nothing_is_known() -> None:
    assert lacking(MACHINE, "c1", platform().model_copy(update={"images": None})) is None


async def test_a_vm_is_added_and_started_with_what_is_there(controller: Controller) -> None:
    await region(controller)
    await tell(controller, "c1", platform("debian", bases=("debian",)))
    said = "as its agent last reported, c1 has no image 'debain': did you mean 'debian'?"
    await controller.refused(409, "/vms", WEB | {"image": "debain"}, "image", said)
    await controller.refused(409, "/vms", WEB | {"disk": {"base": "big", "bytes": 1 << 30}}, "disk", "no base 'big'")
    await controller.post("/vms", WEB | {"image": "debian"})
    await start(controller)
    await stop(controller)
    await tell(controller, "c1", platform("other"))
    problem(await controller.http.post("/api/v1/vms/web/start"), 409, "image", "c1 has no image 'debian'")


async def test_of_a_driver_that_does_not_report_the_start_decides(controller: Controller) -> None:
    await region(controller)
    await tell(controller, "c1", platform("debian"))
    await controller.post("/vms", WEB | {"driver": "simulated", "image": "none"})
