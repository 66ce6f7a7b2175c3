"""A fetch of one image: `weft-images fetch`, which continues where an earlier one has ended."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents import child
from agents.answer import Unreadable, read_json
from controller.wire.images import ImageSource, WantedImage

PROGRAM = "weft-images"
_REFUSED = 3  # exit code: no later try succeeds by itself


class Progress(TypedDict):
    """Bytes that are there, all bytes, and where the present ones come from."""

    bytes: int
    total: int
    source: NotRequired[str]


_FORM = TypeAdapter(Progress)


@dataclass(frozen=True)
class Outcome:
    """The end of a fetch: the image is in its place, or the reason why not; `final` if no later try succeeds by
    itself."""

    there: bool
    reason: str = ""
    final: bool = False


@dataclass(frozen=True)
class Store:
    """The place for images: the folder, the most bytes of all images (None: what the disk has), the directory for the
    cloudlet's key and certificate, and the credentials for registries."""

    directory: Path
    identity: Path
    most: int | None = None
    credentials: Path | None = None

    @property
    def known(self) -> bool:
        """Whether the cloudlet has a certificate: without one it neither serves other cloudlets nor asks them."""
        return (self.identity / "certificate.pem").is_file()

    def usable(self, sources: Sequence[ImageSource]) -> list[ImageSource]:
        """Return the sources that the cloudlet can ask."""
        return [source for source in sources if source.registry is not None or self.known]


def command(
    store: Store, image: WantedImage, sources: Sequence[ImageSource], left: int | None, *, replace: bool
) -> list[str]:
    """Return the command line for sources that are usable. `left` are the bytes that may still come."""
    argv = [PROGRAM, "fetch", "--image", image.name, "--digest", f"sha256:{image.digest}"]
    argv += ["--directory", str(store.directory)]
    for source in sources:
        if source.cloudlet is not None and source.address is not None:
            argv += ["--from", f"{source.cloudlet}={source.address}"]
        elif source.registry is not None:
            argv += ["--registry", source.registry.removeprefix("http://")]
            argv += ["--plain-http"] if source.registry.startswith("http://") else []
    if store.known:
        argv += ["--identity", str(store.identity)]
    if store.credentials is not None:
        argv += ["--credentials", str(store.credentials)]
    if (most := limit(sources)) is not None:
        argv += ["--bandwidth", str(most)]
    if left is not None:
        argv += ["--most", str(max(left, 0))]
    return [*argv, "--replace"] if replace else argv


def limit(sources: Sequence[ImageSource]) -> int | None:
    """Return the most bits per second that a fetch may take: all sources share the lowest limit. None if there is
    none."""
    return min((source.bandwidth for source in sources if source.bandwidth is not None), default=None)


async def fetch(argv: Sequence[str], seconds: float, heard: Callable[[Progress], None]) -> Outcome:
    """Run a fetch until it ends, or for `seconds`: then it is ended, and another one continues. `heard` gets its
    progress. A call that is cancelled ends it too."""
    complaints = deque[str](maxlen=1)

    def line(text: bytes) -> None:
        with suppress(Unreadable):
            heard(read_json(_FORM, text, child.LINE))

    try:
        code = await child.follow(argv, line, complaints.append, seconds)
    except OSError as error:
        return Outcome(False, f"{argv[0]} cannot be started: {error.strerror}")
    if code is None or code == 0:
        return Outcome(code == 0)
    reason = complaints[0].removeprefix(f"{PROGRAM}: ") if complaints else f"{PROGRAM} has ended with {code}"
    return Outcome(False, reason, code == _REFUSED)
