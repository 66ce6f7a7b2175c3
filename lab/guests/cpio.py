"""Archives in the format that the kernel unpacks into its initramfs (kernel documentation, "initramfs buffer format",
newc).

The same entries give the same bytes: they are sorted, all belong to root, and none has a time.
"""

import stat
from pathlib import PurePosixPath


class Archive:
    """The entries by their path without a leading slash. Directories above an entry are added by themselves."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes, tuple[int, int]]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def directory(self, path: str, mode: int = 0o755) -> None:
        self._add(path, stat.S_IFDIR | mode)

    def file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._add(path, stat.S_IFREG | mode, content)

    def link(self, path: str, target: str) -> None:
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a character device."""
        self._add(path, stat.S_IFCHR | mode, device=(major, minor))

    def pack(self) -> bytes:
        parts = [
            _record(path, number, *entry) for number, (path, entry) in enumerate(sorted(self._entries.items()), start=1)
        ]
        return b"".join([*parts, _record("TRAILER!!!", 0, 0, b"", (0, 0))])

    def _add(self, path: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        for parent in PurePosixPath(path).parents:
            if str(parent) != "." and str(parent) not in self._entries:
                self._entries[str(parent)] = (stat.S_IFDIR | 0o755, b"", (0, 0))
        self._entries[path] = (mode, content, device)


def _record(path: str, inode: int, mode: int, content: bytes, device: tuple[int, int]) -> bytes:
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + name) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
