"""The tries to fetch images: how far each has come, why it failed, and when the next one is due."""

import logging
import time
from collections.abc import Iterable, Mapping

from agents.backoff import Backoff
from agents.images.fetch import Outcome, Progress
from controller.wire.images import ImageState, WantedImage

log = logging.getLogger(__name__)

AGAIN = 300.0
"""Most seconds until an image that could not come is tried again."""

_FIRST = 2.0  # seconds until the second try
_LONGEST = 63  # characters of a source's name


class Tries:
    """The tries of one cloudlet, by image. `states` are for the report."""

    def __init__(self) -> None:
        self.states: dict[str, ImageState] = {}
        self._rests: dict[str, float] = {}  # until when it is not tried again
        self._backoffs: dict[str, Backoff] = {}

    def again(self) -> None:
        """Let every image be tried at once, as something has changed."""
        self._rests.clear()

    def keep(self, wanted: Iterable[WantedImage], refused: Mapping[str, str]) -> None:
        """Forget all images but the wanted ones, and note why some of them cannot come."""
        images = {image.name: image for image in wanted}
        for known in (self.states, self._rests, self._backoffs):
            for name in known.keys() - images.keys():
                del known[name]
        for name, why in refused.items():
            self.states[name] = ImageState(name=name, digest=images[name].digest, condition="refused", detail=why)

    def ready(self, images: Iterable[WantedImage]) -> WantedImage | None:
        """Return the first image that may be tried now."""
        at = time.monotonic()
        return next((image for image in images if self._rests.get(image.name, 0.0) <= at), None)

    def pause(self, longest: float) -> float:
        """Return the seconds until an image may be tried again, or `longest`."""
        at = time.monotonic()
        return min([longest, *(max(until - at, 0.1) for until in self._rests.values())])

    def hear(self, image: WantedImage, progress: Progress | None = None) -> None:
        """Note that a fetch has begun, or its progress."""
        if progress is None:
            self.states[image.name] = self._state(image, "coming")
            return
        source = progress.get("source", "")[:_LONGEST]
        self.states[image.name] = ImageState(
            name=image.name,
            digest=image.digest,
            condition="coming",
            done=max(progress["bytes"], 0),
            total=max(progress["total"], 0),
            detail=f"from {source}" if source else "",
        )

    def take(self, image: WantedImage, outcome: Outcome) -> None:
        """Note the end of a fetch. One that has no reason has had its turn, and continues."""
        if outcome.there:
            log.info("image %s is there", image.name)
            self.states[image.name] = self._state(image, "there")
            self._rests.pop(image.name, None)
            self._backoffs.pop(image.name, None)
        elif outcome.reason:
            log.warning("image %s has not come: %s", image.name, outcome.reason)
            backoff = self._backoffs.setdefault(image.name, Backoff(first=_FIRST, cap=AGAIN))
            self._rests[image.name] = time.monotonic() + (AGAIN if outcome.final else backoff.delay())
            failed = self._state(image, "refused" if outcome.final else "failed")
            self.states[image.name] = failed.model_copy(update={"detail": outcome.reason})

    def _state(self, image: WantedImage, condition: str) -> ImageState:
        """Return a state with the bytes that are known so far."""
        known = self.states.get(image.name)
        done, total = (known.done, known.total) if known is not None and known.digest == image.digest else (0, None)
        return ImageState.model_validate(
            {"name": image.name, "digest": image.digest, "condition": condition, "done": done, "total": total}
        )
