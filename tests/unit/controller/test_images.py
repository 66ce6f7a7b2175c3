"""The images that agents report: where they are, and whether they are the same."""

import pytest

from controller.core.images import Image, inventory
from controller.wire.platforms import Platform
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_follow_device import Starts, ready
from tests.unit.controller.test_platforms import HERE, OTHER, tell

CONTAINERS = Platform(
    version="runc 1",
    board="Linux 6",
    accelerator="CRIU 4.2",
    cpu="c",
    files={"work/manifest": "d" * 64},
    images=["work"],
)


def test_an_image_is_counted_by_its_places_and_its_versions() -> None:
    found = inventory([("qemu", HERE, 5), ("qemu", OTHER, 1), ("libvirt", HERE, 2), ("container", CONTAINERS, 3)])
    assert found == [Image("debian", ("libvirt", "qemu"), 8, 2), Image("work", ("container",), 3, 1)]
    assert inventory([]) == []


@pytest.mark.slow
async def test_images_are_listed_with_their_places(controller: Controller) -> None:
    await ready(controller, Starts())
    assert (await controller.get("/images"))["items"] == []
    await tell(controller, "c1", "qemu", HERE)
    await tell(controller, "c2", "qemu", OTHER)
    await tell(controller, "c2", "qemu", OTHER.model_copy(update={"images": ["debian", "debian-2"]}))
    listed = await controller.get("/images")
    assert [(image["name"], image["cloudlets"], image["versions"]) for image in listed["items"]] == [
        ("debian", 2, 2),
        ("debian-2", 1, 1),
    ]
    first = await controller.get("/images", limit=1)
    assert [image["name"] for image in first["items"]] == ["debian"]
    rest = await controller.get("/images", cursor=first["next"])
    assert [image["name"] for image in rest["items"]] == ["debian-2"]
    places = (await controller.get("/images/debian/places"))["items"]
    assert [(one["cloudlet"], one["files"]["kernel"][:1]) for one in places] == [("c1", "a"), ("c2", "c")]
    one = await controller.get("/images/debian/places", limit=1)
    assert [place["cloudlet"] for place in one["items"]] == ["c1"]
    other = await controller.get("/images/debian/places", cursor=one["next"])
    assert [place["cloudlet"] for place in other["items"]] == ["c2"]
    assert [place["cloudlet"] for place in (await controller.get("/images/debian-2/places"))["items"]] == ["c2"]
    refused = await controller.http.get("/api/v1/images/debain/places")
    problem(refused, 404, reason="debain")
    assert "did you mean 'debian'" in refused.text
