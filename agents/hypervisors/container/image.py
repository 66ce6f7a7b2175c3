"""Images of containers: a folder below the site's images is an OCI image layout (image-spec, "OCI Image Layout") with
one image. Its layers are unpacked once, by umoci, which checks every digest.
"""

import asyncio
import re
import shutil
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from agents.answer import Unreadable
from agents.hypervisors import oci_layout
from agents.hypervisors.container.sandbox import finished
from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.oci_layout import of_vms
from agents.storage import durable
from controller.wire.names import NAME_PATTERN

UNPACKED = ".unpacked"
"""The folder of unpacked images. Its name cannot be a machine's."""

_NAME = re.compile(NAME_PATTERN)
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_UNPACKING = 600.0  # seconds


class Images:
    """The images of a cloudlet below `images`, and those that are unpacked below `state`."""

    def __init__(self, images: Path, state: Path) -> None:
        self._images, self._folders = images, state / UNPACKED
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def names(self) -> list[str]:
        """Return the names of all images of containers here, sorted."""
        if not self._images.is_dir():
            return []
        folders = (path.parent for path in self._images.glob(f"*/{oci_layout.INDEX}"))
        return sorted(folder.name for folder in folders if _NAME.fullmatch(folder.name) and not of_vms(folder))

    def digest(self, name: str) -> str:
        """Return the SHA-256 digest of an image's manifest. Raises Refused if there is no such image, or more than
        one."""
        return self._found(name)[0]

    def _found(self, name: str) -> tuple[str, str]:
        """Return the digest, and the tag."""
        path = self._images / name / oci_layout.INDEX
        try:
            manifests = oci_layout.manifests(path.parent)
        except FileNotFoundError:
            raise Refused(f"there is no image {name!r} in {self._images}") from None
        except OSError as error:
            raise HypervisorError(f"{path} cannot be read: {error.strerror}") from error
        except Unreadable as error:
            raise Refused(f"{path} {error}") from None
        if len(manifests) != 1:
            raise Refused(f"{path} has {len(manifests)} images, and the folder of an image has one")
        if manifests[0].get("artifactType") == oci_layout.VM:
            raise Refused(f"{path}: it is an image of VMs")
        tag = manifests[0].get("annotations", {}).get(oci_layout.REFERENCE, "")
        digest = oci_layout.digest(manifests[0])
        if digest is None or not _TAG.fullmatch(tag):
            raise Refused(f"{path}: its image has no SHA-256 digest, or no name: copy it to 'oci:{path.parent}:latest'")
        return digest, tag

    async def unpacked(self, name: str) -> Path:
        """Return the folder of the unpacked image: its `rootfs`, and the `config.json` of a container of it. An image
        whose digests are wrong is refused. Raises HypervisorError."""
        digest, tag = self._found(name)
        folder = self._folders / digest
        async with self._locks[digest]:
            if not folder.is_dir():
                await self._unpack(name, tag, folder)
        return folder

    async def tidy(self, used: Collection[str]) -> None:
        """Delete what was unpacked of images that are not here any more, except the digests `used`: containers run
        above them."""
        current = set(used)
        for name in self.names():
            with suppress(HypervisorError):
                current.add(self.digest(name))
        for folder in self._folders.glob("*"):
            digest = folder.name.removesuffix(".new")
            async with self._locks[digest]:
                if digest not in current:
                    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _unpack(self, name: str, tag: str, folder: Path) -> None:
        coming = folder.with_name(f"{folder.name}.new")
        await asyncio.to_thread(shutil.rmtree, coming, ignore_errors=True)
        coming.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        argv = ["umoci", "unpack", "--image", f"{self._images / name}:{tag}", str(coming)]
        try:
            await finished(argv, "umoci", f"image {name}", seconds=_UNPACKING)
            if (digest := self.digest(name)) != folder.name:
                raise HypervisorError(f"image {name} has become {digest[:12]} while it was unpacked")
            await asyncio.to_thread(durable.put_in_place, coming, folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, coming, ignore_errors=True)
