"""A move's sessions of weft-transfer, and what it tells about the rest of the memory. Pure, except for looking which
files are here, and `hash_ahead`."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agents.hypervisors import weft_transfer
from agents.hypervisors.hypervisor import Site
from agents.hypervisors.kept_copies import KeptCopies, copies
from agents.hypervisors.qemu import transfer
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move, Record
from agents.hypervisors.target import HostPort
from agents.hypervisors.weft_transfer import DISK_SOCKET, SOCKET, Session, Status, identity, mirror
from controller.wire.platforms import BASE

HASHES = ".hashes"
"""The folder of the hashes of reference files. Its name cannot be a machine's."""

_BASE = re.compile(r"memory\.([0-9a-f]{64})")

PAGE = 4096
"""Bytes (x86-64)."""


def base_memories(images: Path, name: str) -> Sequence[tuple[str, Path]]:
    """Return the base memories of an image here, each with its SHA-256 as its name says. A wrong one costs bytes
    only."""
    with suppress(OSError):
        return [(match[1], path) for path in sorted((images / name).iterdir()) if (match := _BASE.fullmatch(path.name))]
    return []


def kept_copies(site: Site) -> KeptCopies:
    """Return the copies of machines' memory and disks."""
    return copies(site, (SOCKET, DISK_SOCKET))


def session(site: Site, kept: Record, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session for the memory of the machine that `kept` describes here. With a certificate of this cloudlet
    the ends authenticate each other. Raises HypervisorError if the agent has not said which cloudlet the other one is,
    or the copy cannot be kept that the policy wants."""
    name, keep = kept.machine.name, move.tuning.keep
    folder = kept_copies(site).folder(name, keep.seconds, keep.bytes) if keep else site.state_dir / name
    return Session(
        move=move.name,
        place=place,
        mirror=folder / mirror(SOCKET),
        keep=keep is not None,
        mirrored=move.tuning.mirror,
        multipath=multipath,
        identity=identity(site, move),
        peer=move.peer,
        references=references(site, kept),
        hashes=site.state_dir / HASHES,
        bandwidth=move.tuning.bandwidth,
        without=site.options.get("without", ""),
    )


def references(site: Site, kept: Record) -> Sequence[tuple[str, Path]]:
    """Return the files here of which the other end may have the pages too: the image's disk, and its base memories."""
    files = kept.platform.files.items() if kept.platform is not None else ()
    disks = [(digest, site.images / path) for path, digest in sorted(files) if path.endswith(f"/{BASE}")]
    return [*disks, *base_memories(site.images, kept.machine.image)]


async def hash_ahead(site: Site, vm: Vm) -> None:
    """Begin to hash those files, for a machine that runs here and may move."""
    if site.options.get("compression") == transfer.THIN and (kept := vm.record()) is not None:
        await weft_transfer.hash_ahead(vm.folder, references(site, kept), site.state_dir / HASHES)


def disk(site: Site, kept: Record, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session for the machine's disk, as `session` does for its memory."""
    memory, described = session(site, kept, move, place, multipath), kept.machine.disk
    assert described is not None
    return replace(
        memory,
        move=f"{move.name}/disk",  # an end for memory never meets one for a disk
        mirror=memory.mirror.with_name(mirror(DISK_SOCKET)),
        references=[one for one in memory.references if one[1].name == BASE],
        disk=described.bytes,
    )


def left(remaining: int, status: Status) -> int:
    """Return how many bytes the line still has to carry: what it has to for the stream so far, and for `remaining`
    bytes of memory that the guest has written, as far as QEMU knows; such a page costs what pages have cost lately
    that were sent before."""
    return int(remaining / PAGE * status["repeated"] + status["backlog"])
