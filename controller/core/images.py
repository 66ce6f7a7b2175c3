"""The images of a region, from the platforms that agents report: which cloudlets have them, and whether they are the
same. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from controller.wire.platforms import Platform


@dataclass(frozen=True)
class Image:
    """An image, or a base of disks. `drivers` use it at `cloudlets` cloudlets; `versions` is how many different sets of
    files it has there, by digest: 1 if it is the same everywhere. `missing` is at how many cloudlets the policy wants
    it and it is not yet."""

    name: str
    drivers: tuple[str, ...]
    cloudlets: int
    versions: int
    missing: int = 0


def files(platform: Platform, name: str) -> dict[str, str]:
    """Return the digests of an image's files at a cloudlet, by their names; empty if it is not there."""
    prefix = f"{name}/"
    return {path.removeprefix(prefix): digest for path, digest in platform.files.items() if path.startswith(prefix)}


def has(platform: Platform, name: str) -> bool:
    """Return whether a cloudlet has the image."""
    return name in (platform.images or ()) or bool(files(platform, name))


def inventory(
    kinds: Iterable[tuple[str, Platform, int]], stored: Mapping[str, tuple[int, int]] | None = None
) -> list[Image]:
    """Return all images, sorted by name. `kinds` are a driver, its platform, and how many cloudlets report the same.
    `stored` has the numbers of cloudlets where an image is stored, and where it is missing."""
    placed = stored or {}
    drivers: dict[str, set[str]] = {}
    cloudlets, versions = Counter[str](), dict[str, set[tuple[str, frozenset[tuple[str, str]]]]]()
    for driver, platform, count in kinds:
        for name, found in _images(platform):
            drivers.setdefault(name, set()).add(driver)
            cloudlets[name] += count
            versions.setdefault(name, set()).add((driver, frozenset(found.items())))
    used = {
        name: Image(name, tuple(sorted(of)), cloudlets[name], _most(versions[name]), placed.get(name, (0, 0))[1])
        for name, of in drivers.items()
    }
    only = {name: Image(name, (), there, 1, missing) for name, (there, missing) in placed.items() if name not in used}
    return [image for _, image in sorted({**used, **only}.items())]


def _images(platform: Platform) -> Iterator[tuple[str, Mapping[str, str]]]:
    found: dict[str, dict[str, str]] = {name: {} for name in platform.images or ()}
    for path, digest in platform.files.items():
        name, _, file = path.partition("/")
        found.setdefault(name, {})[file] = digest
    yield from found.items()


def _most(versions: set[tuple[str, frozenset[tuple[str, str]]]]) -> int:
    """Return the number of versions, of the driver that has the most: two drivers may use files of their own."""
    return max(Counter(driver for driver, _ in versions).values())
