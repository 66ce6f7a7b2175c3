"""Images: which cloudlets have them, and whether they are the same."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import NamePath
from controller.core import images
from controller.core.refusals import missing
from controller.db import platforms, stored_images
from controller.wire.images import ImageCondition

router = APIRouter(prefix="/api/v1/images", tags=["images"], dependencies=[Operator])


class Image(BaseModel):
    """An image of VMs or containers, or a base of disks. `drivers` use it at `cloudlets` cloudlets; `versions` is how
    many different sets of files it has there: VMs move only where it is the same. `missing` is at how many cloudlets
    the policy wants it and it is not yet."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    drivers: list[str]
    cloudlets: int
    versions: int
    missing: int


class ImagePlace(BaseModel):
    """An image at a cloudlet, as its agent has reported at `at`; `files` are SHA-256 digests, by name."""

    cloudlet: str
    driver: str
    files: dict[str, str]
    at: datetime


class StoredImage(BaseModel):
    """An image that a cloudlet's agent stores or is to fetch, as it has reported since `at`: the SHA-256 digest of its
    manifest, its condition there, the bytes that are there, all its bytes, and the reason of a failure."""

    model_config = ConfigDict(from_attributes=True)

    cloudlet: str
    digest: str
    condition: ImageCondition
    done: int
    total: int | None
    detail: str
    at: datetime


@router.get("", responses=errors(), summary="List images")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Image]:
    """Return all images that agents report, sorted by name."""
    after = pages.after(cursor)
    async with region.database.read() as session:
        found = images.inventory(await platforms.kinds(session), await stored_images.counts(session))
    rows = [image for image in found if image.name > after][: limit + 1]
    return pages.page(rows, limit, lambda image: image.name, Image.model_validate)


@router.get("/{name}/places", responses=errors(404), summary="List the places of an image")
async def places(
    name: NamePath, region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None
) -> Page[ImagePlace]:
    """Return the cloudlets that have the image, with its files there, sorted by cloudlet."""
    after = pages.after_pair(cursor)
    async with region.database.read() as session:
        rows = await platforms.having(session, name, after, limit + 1)
        if not any(after) and not any(images.has(platform, name) for _, _, platform, _ in rows):
            stored = await stored_images.counts(session)
            if name not in stored:
                known = images.inventory(await platforms.kinds(session), stored)
                raise missing("image", name, [image.name for image in known])
    found = pages.page(rows, limit, lambda row: f"{row[0]} {row[1]}", lambda row: row)
    places = [
        ImagePlace(cloudlet=cloudlet, driver=driver, files=images.files(platform, name), at=at)
        for cloudlet, driver, platform, at in found.items
        if images.has(platform, name)
    ]
    return Page(items=places, next=found.next)


@router.get("/{name}/stores", responses=errors(), summary="List the cloudlets that store an image")
async def stores(
    name: NamePath, region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None
) -> Page[StoredImage]:
    """Return the cloudlets whose agents store the image or are to fetch it, sorted by name; none for an image that
    nobody placed by the policy."""
    async with region.database.read() as session:
        rows = await stored_images.page(session, name, pages.after(cursor), limit + 1)
    return pages.page(rows, limit, lambda row: row.cloudlet, StoredImage.model_validate)
