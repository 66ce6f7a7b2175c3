"""Dumps: folders of images that CRIU makes of a container's memory.

Where the kernel notes which pages the processes write (soft-dirty bits, proc(5), "clear_refs"), a dump has those pages
alone, and names the dump before it as its parent, which has the others. CRIU clears the notes with each dump. So the
pages of a dump that failed, or went to an end that nobody restores, are noted nowhere: the next one has to be whole."""

import shutil
from pathlib import Path

from agents.hypervisors.hypervisor import Refused

MEMORY = "memory"
"""The dump from which the container is restored."""

MOST = 8
"""Most rounds before the pause."""

EARLIER = tuple(f"{MEMORY}{number}" for number in range(1, MOST + 1))
"""The dumps that are parents, the first one first."""

_MAKING = f"{MEMORY}.making"  # the file that says that a dump is not whole
_PARENT = "parent"  # CRIU's name for the link


class Dumps:
    """The dumps in a container's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def parent(self) -> str | None:
        """Return the dump from which the next one may take pages that have not been written since; None if the next one
        has to be whole."""
        if (self._folder / _MAKING).exists() or (self._folder / MEMORY).exists():
            return None
        made = [name for name in EARLIER if (self._folder / name).is_dir()]
        return made[-1] if made else None

    def begin(self, last: bool) -> tuple[str, str | None]:
        """Make the folder for the next dump, which becomes a parent if it is not the `last` one. Return its name, and
        its parent's. Without a parent, all dumps before it are deleted."""
        parent = self.parent()
        if parent is None:
            self.clear()
        name = MEMORY if last else EARLIER[EARLIER.index(parent) + 1 if parent else 0]
        (self._folder / _MAKING).touch()
        (self._folder / name).mkdir()
        return name, parent

    def end(self) -> None:
        """Note that the dump is whole."""
        (self._folder / _MAKING).unlink()

    def check(self) -> None:
        """Raise Refused if a dump's parent is not one of those before it: CRIU reads whatever that link leads to."""
        for number, name in enumerate((*EARLIER, MEMORY)):
            link = self._folder / name / _PARENT
            if link.is_symlink() and str(link.readlink()) not in (f"../{before}" for before in EARLIER[:number]):
                raise Refused(f"{self._folder.name}: the parent of dump {name} is {str(link.readlink())[:100]!r}")

    def clear(self) -> None:
        """Delete all dumps."""
        for name in (MEMORY, *EARLIER):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        (self._folder / _MAKING).unlink(missing_ok=True)
