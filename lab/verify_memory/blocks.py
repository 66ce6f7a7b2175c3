"""The memory of two QEMUs, compared page by page.

QEMU tells where each of its RAM blocks is in its own memory (HMP `info ramblock`): the machine's RAM, video and
firmware ROMs, ACPI tables. This module reads them there, through the kernel (proc(5), /proc/PID/mem), so that no code
of QEMU's is between the reader and the memory that the virtual CPUs see.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096
_CHUNK = 4 << 20
_UNITS = ("KiB", "MiB", "GiB")  # of a page, before the numbers


@dataclass(frozen=True)
class RamBlock:
    """A RAM block of one QEMU: `used` bytes at `address` of its process."""

    name: str
    used: int
    address: int


def blocks(said: str) -> dict[str, RamBlock]:
    """Return the blocks by name, from the output of HMP's `info ramblock`. Raises ValueError if there is none."""
    found = {}
    for line in said.splitlines():
        words = line.split()
        at = next((at for at, word in enumerate(words) if word in _UNITS), 0)
        numbers = words[at + 1 : at + 5]
        if at > 1 and len(numbers) == 4 and all(number.startswith("0x") for number in numbers):
            name = " ".join(words[: at - 1])
            _, used, _, address = (int(number, 16) for number in numbers)
            found[name] = RamBlock(name, used, address)
    if not found:
        raise ValueError(f"no RAM block in {said!r}")
    return found


def differing(
    one: tuple[int, Mapping[str, RamBlock]], two: tuple[int, Mapping[str, RamBlock]]
) -> tuple[int, list[str]]:
    """Return how many pages were compared, and those that differ, as BLOCK+OFFSET. Each end is a pid and its blocks.
    Raises ValueError if the two do not have the same blocks."""
    (pid, here), (other, there) = one, two
    shape = {name: block.used for name, block in here.items()}
    if shape != (others := {name: block.used for name, block in there.items()}):
        raise ValueError(f"the two have other RAM blocks: {shape} and {others}")
    pages, wrong = 0, list[str]()
    with Path(f"/proc/{pid}/mem").open("rb", 0) as left, Path(f"/proc/{other}/mem").open("rb", 0) as right:
        for name, block in here.items():
            pages += -(-block.used // PAGE)
            ends = (left.fileno(), block.address), (right.fileno(), there[name].address)
            wrong += [f"{name}+{offset:#x}" for offset in _offsets(*ends, block.used)]
    return pages, wrong


def _offsets(one: tuple[int, int], two: tuple[int, int], size: int) -> Iterator[int]:
    for begin in range(0, size, _CHUNK):
        length = min(_CHUNK, size - begin)
        ours, theirs = (os.pread(file, length, address + begin) for file, address in (one, two))
        if len(ours) < length or len(theirs) < length:
            raise ValueError(f"only {len(ours)} and {len(theirs)} of {length} bytes could be read")
        if ours != theirs:
            pages = range(0, length, PAGE)
            yield from (begin + page for page in pages if ours[page : page + PAGE] != theirs[page : page + PAGE])
