"""A move's session of weft-transfer, and what it tells about the rest of the memory. Pure, except for looking which
files are here."""

from typing import Any

from agents.hypervisors.hypervisor import HypervisorError, Site
from agents.hypervisors.qemu import target
from agents.hypervisors.qemu.kept_copies import KeptCopies
from agents.hypervisors.qemu.record import Move
from agents.hypervisors.qemu.target import HostPort
from agents.hypervisors.qemu.weft_transfer import Session, Status, WeftTransfer
from controller.wire.moves import Pages
from controller.wire.platforms import BASE, Platform

HASHES = ".hashes"
"""The folder of the hashes of reference files. Its name cannot be a machine's."""

PAGE = 4096
"""Bytes (x86-64)."""


def copies(site: Site) -> KeptCopies:
    """Return the copies that are kept below the site's state directory."""
    return KeptCopies(site.state_dir, lambda name: WeftTransfer(site.state_dir / name).runs())


def session(site: Site, name: str, platform: Platform | None, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session of a move; `platform` is that of the machine here. With a certificate of this cloudlet the
    ends authenticate each other. Raises HypervisorError if the agent has not said which cloudlet the other one is, or
    the copy cannot be kept that the policy wants."""
    certified = site.identity is not None and (site.identity / "certificate.pem").is_file()
    if certified and move.peer is None:
        raise HypervisorError(f"the agent has not said which cloudlet is at the other end of move {move.name}")
    found, keep = platform.files.items() if platform is not None else (), move.tuning.keep
    return Session(
        move=move.name,
        place=place,
        mirror=copies(site).mirror(name, keep.seconds, keep.bytes) if keep else site.state_dir / name / "mirror",
        keep=keep is not None,
        multipath=multipath,
        identity=site.identity if certified else None,
        peer=move.peer,
        references=[(digest, site.images / name) for name, digest in sorted(found) if name.endswith(f"/{BASE}")],
        hashes=site.state_dir / HASHES,
        bandwidth=move.tuning.bandwidth,
    )


def outgoing(site: Site, name: str, platform: Platform | None, move: Move, multipath: bool) -> Session:
    """Return the session of a move that leaves from here."""
    assert move.target is not None
    return session(site, name, platform, move, target.memory(move.target)[0], multipath)


def figures(status: Status) -> dict[str, Any]:
    """Return the figures that weft-transfer knows better than QEMU."""
    by = status["pages"].get
    pages = Pages(
        zero=by("zero", 0),
        same=by("same", 0),
        known=by("copy", 0),
        delta=by("delta", 0),
        literal=by("literal", 0),
        repeats=status["wrong"],
        kept=status["kept"],
    )
    return {"wire": status["wire"], "pages": pages}


def left(remaining: int, status: Status) -> int:
    """Return how many bytes the line still has to carry: `remaining` bytes of memory that the guest has written, as far
    as QEMU knows, and what is on its way. A page that was sent before costs what such pages have cost lately."""
    return int(remaining / PAGE * status["repeated"]) + status["flying"]
