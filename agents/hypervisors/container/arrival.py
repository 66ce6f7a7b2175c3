"""A container that begins here, or comes here: it waits, has arrived, runs."""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from agents.hypervisors.container import bundle, silence, vnics
from agents.hypervisors.container.container import Container
from agents.hypervisors.container.dumps import Dumps
from agents.hypervisors.container.image import Images
from agents.hypervisors.container.platform import image_file
from agents.hypervisors.container.session import session
from agents.hypervisors.free_place import free_place
from agents.hypervisors.hypervisor import Attachment, Fenced, HypervisorError, Refused, Site
from agents.hypervisors.paths import make_room, offer, withdraw
from agents.hypervisors.ports import ports
from agents.hypervisors.record import Move, Record
from agents.hypervisors.target import HostPort, target
from agents.hypervisors.target import memory as places
from controller.wire.machines import NICS, Machine, Nic
from controller.wire.moves import Figures, Target
from controller.wire.platforms import Platform

COMPLETE = "complete"
"""The file that weft-transfer makes when all of the container's state is here."""


class Arrival:
    """The steps of a container that begins here or comes here. `here` is the platform that containers find."""

    def __init__(self, site: Site, images: Images, here: Platform) -> None:
        self._site, self._images, self._here = site, images, here

    async def start(self, container: Container, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        """Run the container, with what it has written if it has been here before. Raises Fenced, Refused,
        HypervisorError."""
        kept, state = container.record(), await container.state()
        if state.condition == "running":
            return
        if state.condition in ("moved", "waiting", "paused"):
            raise Fenced(f"{machine.name} is {state.condition} here{state.detail and f': {state.detail}'}")
        partial = kept is not None and kept.move is not None and kept.move.role == "incoming"
        if not partial:
            self._same_image(kept, container.folder, machine)
        await container.remove(upper=partial)
        await self._make(container, machine, attachment, serving, None)
        await vnics.connect(container.folder, container.known())
        try:
            await container.guest.watch()
            await container.runtime.start()
        except HypervisorError:
            await container.remove(upper=False)
            raise

    def _same_image(self, kept: Record | None, folder: Path, machine: Machine) -> None:
        """Raise Refused if what the container has written belongs above another image."""
        if kept is None or kept.platform is None:
            return
        name = image_file(machine.image)
        before, now = kept.platform.files.get(name), self._images.digest(machine.image)
        if before != now:
            raise Refused(
                f"{machine.name}: its files were written above image {(before or 'none')[:12]}, and {machine.image} is"
                f" {now[:12]} now: put that image back, or delete {folder} and all that it has written"
            )

    async def _make(
        self, container: Container, machine: Machine, attachment: Attachment, serving: Nic, move: Move | None
    ) -> None:
        bundle.check(machine)
        digest = self._images.digest(machine.image)
        unpacked = await self._images.unpacked(machine.image)
        platform = self._here.model_copy(update={"files": {image_file(machine.image): digest}})
        links = {nic: nic == serving for nic in NICS}
        record = Record(
            machine=machine,
            bridge=attachment.bridge,
            mtu=attachment.mtu,
            serving=serving,
            links=links,
            move=move,
            platform=platform,
        )
        container.save(record)
        try:
            await container.make(unpacked)
        except BaseException:
            await container.remove(upper=move is not None)
            raise

    async def prepare(
        self,
        container: Container,
        machine: Machine,
        attachment: Attachment,
        serving: Nic,
        move: Move,
        addresses: Sequence[str],
    ) -> Target:
        """Let the container wait here, and return where. One that already waits for the same move is left as it is,
        unless its transfer has failed."""
        kept, state = container.record(), await container.state()
        known = kept.move if kept is not None else None
        ours = known is not None and (known.name, known.role) == (move.name, "incoming")
        if state.condition in ("running", "paused") or (state.condition == "waiting" and not ours):
            raise Fenced(f"{machine.name} is {state.condition} here")
        if known is not None and known.target is not None and state.condition == "waiting" and self._lives(container):
            return known.target
        await leave(container)
        await container.remove()
        await self._make(container, machine, attachment, serving, move)
        try:
            first = free_place(addresses[0], ports(self._site.options))
            waits = [first, *(HostPort(address, first.port) for address in addresses[1:])]
            several = len(waits) > 1
            if several:
                make_room()
                await offer(waits[1:])
            await container.transfer.receive(session(self._site, container, move, first, several))
            new = container.known()
            move.target = target(waits, None).model_copy(update={"platform": new.platform})
            new.move = move
            container.save(new)
        except BaseException:
            await container.remove()
            raise
        return move.target

    def _lives(self, container: Container) -> bool:
        return container.transfer.runs() or (container.folder / COMPLETE).is_file()


async def arrived(container: Container, move: str) -> bool:
    """Return whether all that the container needs to run is here, or was here and has been run."""
    kept = container.record()
    if kept is None or kept.move is None or kept.move.name != move:
        return False
    if kept.move.role == "arrived":
        return True
    return kept.move.role == "incoming" and _whole(container)


def _whole(container: Container) -> bool:
    return container.sandbox.pid() is not None and (container.folder / COMPLETE).is_file()


async def activate(container: Container, move: str) -> Figures:
    """Run the container. Raises Fenced if that move did not bring it here, or not all of it."""
    kept, began = container.known(), monotonic()
    if kept.move is None or kept.move.name != move or kept.move.role == "outgoing":
        raise Fenced(f"{container.name} was not brought here by move {move}")
    if kept.move.role != "arrived":
        status = await container.runtime.status()
        if status in ("absent", "stopped") and not container.runtime.restored():
            if not _whole(container):
                raise Fenced(f"{container.name}: not all of its state is here")
            await _restore(container, kept)
        elif container.sandbox.pid() is not None:  # an agent that died meanwhile may have left it deaf
            await silence.end(container.sandbox, container.runtime.lock())
        if container.sandbox.pid() is not None:  # else it has ended since
            await container.guest.watch()
        kept.move.role = "arrived"
        container.save(kept)
        await container.forget_memory()
    await leave(container)
    return Figures(seconds=monotonic() - began)


async def _restore(container: Container, kept: Record) -> None:
    """Let the container run with its state. Its network is there before, as its sockets have its addresses; what comes
    for them meanwhile is dropped, or the kernel would reset their connections."""
    Dumps(container.folder).check()
    await container.guest.arrive()
    lock = container.runtime.lock()
    await silence.deafen(container.sandbox, lock)
    try:
        await vnics.connect(container.folder, kept)
        await container.runtime.restore()
    except HypervisorError:
        if not container.runtime.restored():
            await vnics.detach(container.folder)
            await container.runtime.delete()
            raise
    finally:
        await silence.end(container.sandbox, lock)


async def leave(container: Container) -> None:
    """Stop waiting at the additional addresses."""
    kept = container.record()
    if kept is not None and kept.move is not None and kept.move.role != "outgoing" and kept.move.target is not None:
        await withdraw(places(kept.move.target)[1:])
