"""The decision which images are fetched and which are removed. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from controller.wire.images import ImageState, WantedImage


@dataclass(frozen=True)
class Plan:
    """The images to `fetch`, in this order, those to `remove`, and the others of the wanted ones with the reason why
    they cannot come (`refused`). An image in `replaced` takes the place of an older version."""

    fetch: tuple[WantedImage, ...] = ()
    remove: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()


def plan(
    wanted: Collection[WantedImage],
    stored: Mapping[str, str | None],
    fetched: Mapping[str, str],
    used: Collection[str] | None,
) -> Plan:
    """Return the plan. `stored` are the images that are there, with the digests of their manifests; `fetched` are the
    images that the agent has fetched itself: others belong to the operator, and are never removed or replaced. `used`
    are the images of the machines here; None if that is not known, and then every image may be used."""
    refused: dict[str, str] = {}
    fetch: list[WantedImage] = []
    replaced: set[str] = set()
    for image in wanted:
        if image.name not in stored:
            fetch.append(image)
        elif stored[image.name] != image.digest:
            own = image.name in fetched and fetched[image.name] == stored[image.name]
            if why := _kept(image.name, own, used):
                refused[image.name] = why
            else:
                fetch.append(image)
                replaced.add(image.name)
    names = {image.name for image in wanted}
    gone = [n for n, d in fetched.items() if n not in names and n in stored and stored[n] == d]
    remove = [name for name in gone if used is not None and name not in used]
    return Plan(tuple(fetch), tuple(remove), refused, frozenset(replaced))


def _kept(name: str, own: bool, used: Collection[str] | None) -> str:
    """Return why the version that is there stays; empty if it can go."""
    if not own:
        return "another version is there, which the agent has not fetched: remove it, or give the new one another name"
    if used is None or name in used:
        return "machines here use another version: stop them, or give the new one another name"
    return ""


def states(
    wanted: Collection[WantedImage], stored: Mapping[str, str | None], tried: Mapping[str, ImageState]
) -> list[ImageState]:
    """Return the report: the wanted images, and all others that have a manifest. `tried` are the states of images that
    are being fetched, or could not be."""
    named = {image.name: image.digest for image in wanted}
    found = [_state(image, stored.get(image.name), tried.get(image.name)) for image in wanted]
    others = [(name, digest) for name, digest in stored.items() if name not in named and digest is not None]
    found += [ImageState(name=name, digest=digest, condition="there") for name, digest in others]
    return sorted(found, key=lambda state: state.name)


def _state(image: WantedImage, there: str | None, tried: ImageState | None) -> ImageState:
    if there == image.digest:
        total = tried.total if tried is not None and tried.digest == image.digest else None
        return ImageState(name=image.name, digest=image.digest, condition="there", done=total or 0, total=total)
    if tried is not None and tried.digest == image.digest:
        return tried
    return ImageState(name=image.name, digest=image.digest, condition="waiting")
