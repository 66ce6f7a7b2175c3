"""Images: messages between the controller, which says which images belong to a cloudlet, and the agents, which fetch
them (docs/operate/images.md).

The wanted images are sent as server-sent events named `images` on `GET /api/v1/agent/desired`, without an id: the whole
document at the beginning of a stream and whenever it changes. An agent asks for the sources of an image each time that
it begins to fetch it, as they and their order change. `POST /api/v1/agent/images` takes all images of a cloudlet.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Count, Name
from controller.wire.model import Message
from controller.wire.platforms import MOST_IMAGES, Digest

REGISTRY_PATTERN = r"^(http://)?[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$"
"""A registry's host, its port, and the repository there; `http://` in front if it has no TLS."""

MOST_SOURCES = 8

Registry = Annotated[str, Field(max_length=400, pattern=REGISTRY_PATTERN)]


class WantedImage(Message):
    """An image that belongs to a cloudlet. `digest` is the SHA-256 of its manifest (OCI image-spec), in hex."""

    name: Name
    digest: Digest


class WantedImages(Message):
    """All images that the policy places at a cloudlet, sorted by name."""

    cloudlet: Name
    images: Annotated[list[WantedImage], Field(max_length=MOST_IMAGES)]


class ImageSource(Message):
    """A place from which an image can be fetched: a cloudlet, whose agent serves images at `address` (host and port),
    or else a `registry`. `bandwidth` is the most bits per second that may be taken of the link; None: no limit."""

    cloudlet: Name | None = None
    address: Annotated[str, Field(max_length=60)] | None = None
    registry: Registry | None = None
    bandwidth: Count | None = None


class ImageSources(Message):
    """The sources of an image, in the order in which they are tried."""

    digest: Digest
    sources: Annotated[list[ImageSource], Field(max_length=MOST_SOURCES + 1)]


ImageCondition = Literal["there", "waiting", "coming", "failed", "refused"]
"""The condition of an image at a cloudlet: it is there; it waits until others have come; it is being fetched; the last
try failed, and another one follows; or no try can succeed before somebody changes something."""


class ImageState(Message):
    """An image at a cloudlet, as its agent sees it. `done` and `total` are bytes; `detail` is the reason of a failure,
    or where the bytes come from."""

    name: Name
    digest: Digest
    condition: ImageCondition
    done: Count = 0
    total: Count | None = None
    detail: Annotated[str, Field(max_length=1000)] = ""


class ImageReport(Message):
    """All images at a cloudlet that have a manifest, and those that it is to have. Other cloudlets can fetch those that
    are there at this TCP `port` of its VTEP; None: they cannot."""

    cloudlet: Name
    images: Annotated[list[ImageState], Field(max_length=2 * MOST_IMAGES)]
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
