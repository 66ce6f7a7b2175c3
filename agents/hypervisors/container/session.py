"""The session of weft-transfer that carries a container."""

from collections.abc import Sequence
from pathlib import Path

from agents.hypervisors.container.base_files import base_files
from agents.hypervisors.container.container import SOCKET, Container
from agents.hypervisors.container.image import UNPACKED
from agents.hypervisors.container.platform import image_file
from agents.hypervisors.container.rounds import TREES
from agents.hypervisors.hypervisor import Site
from agents.hypervisors.kept_copies import KeptCopies, copies
from agents.hypervisors.record import Move
from agents.hypervisors.target import HostPort
from agents.hypervisors.weft_transfer import Session, identity, mirror


def kept_copies(site: Site) -> KeptCopies:
    """Return the copies of containers' memory and files."""
    return copies(site, (SOCKET,))


def session(site: Site, container: Container, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session of a move. With a certificate of this cloudlet the ends authenticate each other. Raises
    HypervisorError if the agent has not said which cloudlet the other one is, or the copy cannot be kept that the
    policy wants."""
    keep = move.tuning.keep
    folder = kept_copies(site).folder(container.name, keep.seconds, keep.bytes) if keep else container.folder
    return Session(
        move=move.name,
        place=place,
        mirror=folder / mirror(SOCKET),
        keep=keep is not None,
        mirrored=move.tuning.mirror,
        multipath=multipath,
        identity=identity(site, move),
        peer=move.peer,
        references=_references(site, container),
        bandwidth=move.tuning.bandwidth,
        trees=TREES,
        without=site.options.get("without", ""),
    )


def _references(site: Site, container: Container) -> Sequence[tuple[str, Path]]:
    """Return the files of the container's image, which both ends have unpacked."""
    kept = container.known()
    digest = kept.platform.files.get(image_file(kept.machine.image)) if kept.platform is not None else None
    return base_files(site.state_dir / UNPACKED / digest) if digest is not None else ()
