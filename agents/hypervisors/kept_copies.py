"""Copies of machines' memory, disks and files that both ends of a move keep, so that the way back costs only what has
changed (docs/operate/qemu.md, "Thin lines"). They are the mirrors of weft-transfer, in a folder of the machine's name.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.hypervisors.hypervisor import HypervisorError, Site
from agents.hypervisors.weft_transfer import WeftTransfer
from agents.storage import durable

FOLDER = ".kept"
"""Its name cannot be a machine's."""

_UNTIL, _BEGUN = "until", "begun"
_STARTS = 60.0  # seconds until the session that makes a copy runs
_MIRRORS, _SEAL = "*.mirror", ".kept"


@dataclass(frozen=True)
class _Copy:
    name: str
    folder: Path
    begun: float
    until: float
    bytes: int


class KeptCopies:
    """The copies below a driver's state directory. `busy` tells whether a machine is on its way, so that its copy is in
    use."""

    def __init__(self, state: Path, busy: Callable[[str], bool], clock: Callable[[], float] = time.time) -> None:
        self._folder, self._busy, self._clock = state / FOLDER, busy, clock

    def folder(self, name: str, seconds: int, most: int) -> Path:
        """Return the folder for a machine's copies, which are kept for so many seconds from now. Those that end first
        make room, until all others have at most `most` bytes. Raises HypervisorError."""
        folder = self._folder / name
        self.expire()
        others = sorted((one for one in self._all() if one.name != name), key=lambda one: one.until)
        taken = sum(one.bytes for one in others)
        for one in others:
            if taken > most and not self._used(one):
                self.forget(one.name)
                taken -= one.bytes
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            durable.replace(folder / _BEGUN, f"{self._clock():.0f}")
            durable.replace(folder / _UNTIL, f"{self._clock() + seconds:.0f}")
        except OSError as error:
            raise HypervisorError(f"no copy of {name} can be kept in {folder}: {error.strerror}") from error
        return folder

    def expire(self) -> None:
        """Delete copies whose time is over, and those of moves that have failed."""
        for one in self._all():
            if (one.until <= self._clock() or not _sealed(one.folder)) and not self._used(one):
                self.forget(one.name)

    def _used(self, one: _Copy) -> bool:
        """Return whether a session uses the copy, or may be about to."""
        starts = not _sealed(one.folder) and self._clock() < one.begun + _STARTS
        return starts or self._busy(one.name)

    def forget(self, name: str) -> None:
        """Delete the copy of a machine: it has started anew, or has been stopped."""
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def _all(self) -> Iterator[_Copy]:
        with suppress(FileNotFoundError, NotADirectoryError):
            for folder in sorted(self._folder.iterdir()):
                yield _Copy(folder.name, folder, _time(folder / _BEGUN), _time(folder / _UNTIL), _size(folder))


def copies(site: Site, sockets: Sequence[str]) -> KeptCopies:
    """Return the copies that are kept below the site's state directory. Sessions that use these sockets use them."""

    def busy(name: str) -> bool:
        return any(WeftTransfer(site.state_dir / name, socket).runs() for socket in sockets)

    return KeptCopies(site.state_dir, busy)


def _time(path: Path) -> float:
    """Return the time in a file; long ago if there is none."""
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return 0.0


def _sealed(folder: Path) -> bool:
    """Return whether there are copies, and the moves that made them have ended well."""
    mirrors = list(folder.glob(_MIRRORS))
    return bool(mirrors) and all(path.with_name(path.name + _SEAL).exists() for path in mirrors)


def _size(folder: Path) -> int:
    """Return the bytes that a copy takes on the disk. A mirror is a sparse file."""
    with suppress(OSError):
        return sum(path.stat().st_blocks * 512 for path in folder.iterdir())
    return 0
