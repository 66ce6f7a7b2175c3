"""A move's session of weft-transfer, and what it tells about the rest of the memory. Pure, except for looking which
files are here."""

from agents.hypervisors.hypervisor import HypervisorError, Site
from agents.hypervisors.qemu import target
from agents.hypervisors.qemu.record import Move
from agents.hypervisors.qemu.target import HostPort
from agents.hypervisors.qemu.weft_transfer import Session, Status
from controller.wire.platforms import BASE, Platform

PAGE = 4096
"""Bytes (x86-64)."""


def session(site: Site, platform: Platform | None, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session of a move; `platform` is that of the machine here. With a certificate of this cloudlet the
    ends authenticate each other. Raises HypervisorError if the agent has not said which cloudlet the other one is."""
    certified = site.identity is not None and (site.identity / "certificate.pem").is_file()
    if certified and move.peer is None:
        raise HypervisorError(f"the agent has not said which cloudlet is at the other end of move {move.name}")
    found = platform.files.items() if platform is not None else ()
    return Session(
        move=move.name,
        place=place,
        multipath=multipath,
        identity=site.identity if certified else None,
        peer=move.peer,
        references=[(digest, site.images / name) for name, digest in sorted(found) if name.endswith(f"/{BASE}")],
        hashes=site.state_dir / "hashes",
        bandwidth=move.tuning.bandwidth,
    )


def outgoing(site: Site, platform: Platform | None, move: Move, multipath: bool) -> Session:
    """Return the session of a move that leaves from here."""
    assert move.target is not None
    return session(site, platform, move, target.memory(move.target)[0], multipath)


def left(remaining: int, status: Status) -> int:
    """Return how many bytes the line still has to carry: `remaining` bytes of memory that the guest has written, as far
    as QEMU knows, and what is on its way. A page that was sent before costs what such pages have cost lately."""
    return int(remaining / PAGE * status["repeated"]) + status["flying"]
