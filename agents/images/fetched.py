"""The images that the agent has fetched itself, stored in a file: it never removes others."""

import json
import logging
from contextlib import suppress
from pathlib import Path

from agents.storage import durable

log = logging.getLogger(__name__)

FILE = "images.json"


class Fetched:
    """Names of images with the digests of their manifests, stored below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.images: dict[str, str] = {}
        with suppress(OSError, ValueError, AttributeError):  # without the file, images stay for ever
            self.images = {str(name): str(digest) for name, digest in json.loads(self._path.read_text()).items()}

    def note(self, name: str, digest: str) -> None:
        """Add an image, or its newer version."""
        self.images = self.images | {name: digest}
        self._save()

    def forget(self, name: str) -> None:
        """Remove an image."""
        self.images = {other: digest for other, digest in self.images.items() if other != name}
        self._save()

    def _save(self) -> None:
        try:
            durable.replace(self._path, json.dumps(self.images))
        except OSError as error:
            log.error("%s cannot be written, so the agent will not remove these images: %s", self._path, error.strerror)
