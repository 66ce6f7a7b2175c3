"""The files of an image that both ends of a move have: pages of them that a container has copied into its layer, or its
memory, need not go over the line. Their digests are in the list that umoci makes as it unpacks (mtree(5))."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

LEAST = 64 << 10
"""Bytes of the smallest file that is looked at."""

MOST, ROOM = 60, 128 << 20
"""The most files of an image, and the most bytes of them, as their pages are hashed while a container waits to move."""

_LIST = "*.mtree"
_ESCAPE = re.compile(rb"\\([0-7]{3})")


def base_files(unpacked: Path) -> Sequence[tuple[str, Path]]:
    """Return the largest files of an unpacked image, each with its SHA-256. None if there is no list of them: that
    costs bytes only."""
    found, room = list[tuple[str, Path]](), ROOM
    with suppress(OSError, ValueError):
        for path in unpacked.glob(_LIST):
            for size, digest, name in sorted(_files(path.read_text()), reverse=True):
                if size <= room and len(found) < MOST:
                    found.append((digest, unpacked / "rootfs" / name))
                    room -= size
    return found


def _files(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield size, SHA-256 and path of each large regular file of a list. Directories nest; `..` ends one. Raises
    ValueError for a list of something else."""
    folders, kind = list[str](), "file"
    for line in text.split("\n"):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        known = dict(word.partition("=")[::2] for word in words[1:])
        if words[0] == "/set":
            kind = known.get("type", kind)
        elif words[0] == "..":
            del folders[-1:]
        else:
            name = os.fsdecode(_ESCAPE.sub(lambda octal: bytes([int(octal[1], 8)]), words[0].encode()))
            is_a = known.get("type", kind)
            if is_a == "dir":
                folders.append(name)
            elif is_a == "file" and int(known.get("size", 0)) >= LEAST and "sha256digest" in known:
                yield int(known["size"]), known["sha256digest"], "/".join([*folders, name])
