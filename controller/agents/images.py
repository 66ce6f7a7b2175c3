"""Images at cloudlets: which belong there, where they can be fetched, and the reports about them."""

from collections.abc import Callable, Mapping

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core import image_placement
from controller.core.bandwidth_limits import most
from controller.core.clock import now
from controller.core.event_budget import of_cloudlet
from controller.core.image_sources import TURN, Holder, nearest
from controller.core.intent import Intent
from controller.core.names import printable
from controller.core.refusals import missing
from controller.db import bandwidths, neighbours, stored_images, vms
from controller.db.engine import Database
from controller.runtime.event_log import EventLog
from controller.wire.images import (
    ImageCondition,
    ImageReport,
    ImageSource,
    ImageSources,
    ImageState,
    WantedImages,
)

MOST_HOLDERS = 1000
"""Most cloudlets without a measured round trip that are looked at as sources of an image."""

_SAID: Mapping[ImageCondition, tuple[str, str]] = {
    "there": ("image-there", "has come"),
    "failed": ("image-failed", "has not come, and is tried again"),
    "refused": ("image-refused", "cannot come"),
}
"""The event's type and words, by the condition that an image has got into."""


class Images:
    """`intent` returns the intent of the region as it is now."""

    def __init__(self, database: Database, intent: Callable[[], Intent], event_log: EventLog) -> None:
        self._database, self._intent, self._event_log = database, intent, event_log

    async def wanted(self, cloudlet: str) -> WantedImages:
        """Return the images that belong to a cloudlet. Raises Unavailable."""
        intent = self._intent()
        homes: dict[str, str] = {}
        if names := intent.policy.image_devices:
            async with self._database.read() as session:
                homes = await vms.homes(session, names)
        return WantedImages(cloudlet=cloudlet, images=image_placement.wanted(intent, cloudlet, homes))

    async def sources(self, cloudlet: str, name: str) -> ImageSources:
        """Return the sources of an image for a cloudlet: others that have it, the nearest first, then the registry.
        Raises Refused if the policy has no such image, and Unavailable."""
        intent = self._intent()
        image = intent.policy.images.get(name)
        if image is None:
            raise missing("image", name, list(intent.policy.images))
        async with self._database.read() as session:
            found, size = await self._holders(session, intent, cloudlet, name, image.digest)
        turn = f"{cloudlet} {name} {int(now().timestamp()) // TURN}"
        chosen = nearest(found, size, turn)
        sources = [ImageSource(cloudlet=h.cloudlet, address=h.address, bandwidth=h.limit) for h in chosen]
        if image.registry is not None:
            limit = most(intent.policy.migration.bandwidth, "", cloudlet, now())
            sources.append(ImageSource(registry=image.registry, bandwidth=limit))
        return ImageSources(digest=image.digest, sources=sources)

    async def _holders(
        self, session: AsyncSession, intent: Intent, cloudlet: str, name: str, digest: str
    ) -> tuple[list[Holder], int | None]:
        """Return the holders of an image, and its size in bytes if one of them has told it. Neighbours to which a round
        trip was measured are looked for first, so that others do not crowd them out."""
        at, current = now(), await neighbours.of(session, [cloudlet])
        medians = {one: found.median_ms for (_, one), found in current.items() if found.fresh_until > at}
        near = await stored_images.holders(session, name, digest, medians)
        others = await stored_images.holders(session, name, digest, limit=MOST_HOLDERS)
        stored = {
            one.cloudlet: one for one in (*near, *others) if _serves(intent, one.cloudlet) and one.cloudlet != cloudlet
        }
        rates = await bandwidths.to(session, cloudlet, stored)
        limits = intent.policy.migration.bandwidth
        holders = [
            Holder(of, one.address, medians.get(of), rates.get(of), most(limits, of, cloudlet, at))
            for of, one in stored.items()
        ]
        return holders, max((one.total for one in stored.values() if one.total), default=None)

    async def take(self, report: ImageReport) -> None:
        """Store an agent's report, and note an event for each image that has come, or could not. Raises Unavailable."""
        async with self._database.write() as session:
            changed = await stored_images.tell(session, report)
        for before, state in changed:
            old = before is None and state.condition == "there"  # it did not come just now
            if state.condition in _SAID and state.name in self._intent().policy.images and not old:
                self._note(report.cloudlet, state)

    def _note(self, cloudlet: str, state: ImageState) -> None:
        kind, said = _SAID[state.condition]
        why = f": {printable(state.detail, 300)}" if state.condition != "there" and state.detail else ""
        data = {"image": state.name, "digest": state.digest}
        text = f"{cloudlet}: image {state.name} {said}{why}"
        self._event_log.note(kind, cloudlet, text, caused_by=of_cloudlet(cloudlet), **data)


def _serves(intent: Intent, cloudlet: str) -> bool:
    found = intent.cloudlets.get(cloudlet)
    return found is not None and found.enrolled
