"""A fetch of one image: `weft-images fetch`, which continues where an earlier one has ended."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.answer import Unreadable, printable, read_json
from controller.wire.images import ImageSource, WantedImage

PROGRAM = "weft-images"
DIES_WITH_ME = ("setpriv", "--pdeathsig", "TERM")
"""A fetch or server that outlives its agent would be in the way of the next one's."""

_LINE = 1 << 16  # bytes of a line
_SHOWN = 800  # characters of a reason
_REFUSED = 3  # exit code: no later try succeeds by itself
_ENDS = 5.0  # seconds


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


def command(
    store: Store, image: WantedImage, sources: Sequence[ImageSource], left: int | None, *, replace: bool
) -> list[str]:
    """Return the command line. `left` are the bytes that may still come. All sources share one limit, the lowest."""
    argv = [*DIES_WITH_ME, PROGRAM, "fetch", "--image", image.name, "--digest", f"sha256:{image.digest}"]
    argv += ["--directory", str(store.directory)]
    for source in sources:
        if source.cloudlet is not None and source.address is not None and store.known:
            argv += ["--from", f"{source.cloudlet}={source.address}"]
        elif source.registry is not None:
            argv += ["--registry", source.registry.removeprefix("http://")]
            argv += ["--plain-http"] if source.registry.startswith("http://") else []
    if store.known:
        argv += ["--identity", str(store.identity)]
    if store.credentials is not None:
        argv += ["--credentials", str(store.credentials)]
    if limits := [source.bandwidth for source in sources if source.bandwidth is not None]:
        argv += ["--bandwidth", str(min(limits))]
    if left is not None:
        argv += ["--most", str(max(left, 0))]
    return [*argv, "--replace"] if replace else argv


async def fetch(argv: Sequence[str], seconds: float, heard: Callable[[Progress], None]) -> Outcome:
    """Run a fetch until it ends, or for `seconds`: then it is ended, and another one continues. `heard` gets its
    progress. A call that is cancelled ends it too."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE, limit=_LINE, process_group=0
        )
    except OSError as error:
        return Outcome(False, f"{argv[0]} cannot be started: {error.strerror}")
    complaints = asyncio.create_task(_last(process))
    try:
        async with asyncio.timeout(seconds):
            await _follow(process, heard)
            code = await process.wait()
    except TimeoutError:
        await _end(process)
        await complaints
        return Outcome(False)
    except BaseException:
        await _end(process)
        complaints.cancel()
        raise
    reason = printable(await complaints, _SHOWN) or f"{PROGRAM} has ended with {code}"
    return Outcome(True) if code == 0 else Outcome(False, reason, code == _REFUSED)


async def _follow(process: Process, heard: Callable[[Progress], None]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        with suppress(Unreadable):
            heard(read_json(_FORM, line, _LINE))


async def _last(process: Process) -> str:
    """Return the last line that the program complained of."""
    assert process.stderr is not None
    last = b""
    while some := await process.stderr.read(_LINE):
        last = (last + some)[-_LINE:]
    lines = last.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix(f"{PROGRAM}: ") if lines else ""


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(_ENDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
