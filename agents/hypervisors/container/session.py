"""The session of weft-transfer that carries a container."""

from agents.hypervisors.container.container import SOCKET, Container
from agents.hypervisors.container.rounds import TREES
from agents.hypervisors.hypervisor import Site
from agents.hypervisors.record import Move
from agents.hypervisors.target import HostPort
from agents.hypervisors.weft_transfer import Session, identity, mirror


def session(site: Site, container: Container, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session of a move. With a certificate of this cloudlet the ends authenticate each other. Raises
    HypervisorError if the agent has not said which cloudlet the other one is."""
    return Session(
        move=move.name,
        place=place,
        mirror=container.folder / mirror(SOCKET),
        mirrored=move.tuning.mirror,
        multipath=multipath,
        identity=identity(site, move),
        peer=move.peer,
        bandwidth=move.tuning.bandwidth,
        trees=TREES,
        without=site.options.get("without", ""),
    )
