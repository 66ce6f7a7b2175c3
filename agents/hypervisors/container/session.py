"""The session of weft-transfer that carries a container."""

from agents.hypervisors.container.container import SOCKET, Container
from agents.hypervisors.container.rounds import TREES
from agents.hypervisors.hypervisor import HypervisorError, Site
from agents.hypervisors.record import Move
from agents.hypervisors.target import HostPort
from agents.hypervisors.weft_transfer import Session, mirror

MIRRORED = 4 << 30
"""Most bytes of files and memory that each end mirrors, unless the policy says otherwise."""


def session(site: Site, container: Container, move: Move, place: HostPort, multipath: bool) -> Session:
    """Return the session of a move. With a certificate of this cloudlet the ends authenticate each other. Raises
    HypervisorError if the agent has not said which cloudlet the other one is."""
    certified = site.identity is not None and (site.identity / "certificate.pem").is_file()
    if certified and move.peer is None:
        raise HypervisorError(f"the agent has not said which cloudlet is at the other end of move {move.name}")
    return Session(
        move=move.name,
        place=place,
        mirror=container.folder / mirror(SOCKET),
        mirrored=move.tuning.mirror if move.tuning.mirror is not None else MIRRORED,
        multipath=multipath,
        identity=site.identity if certified else None,
        peer=move.peer,
        bandwidth=move.tuning.bandwidth,
        trees=TREES,
        without=site.options.get("without", ""),
    )
