"""The destination's side of a move: where it waits, and whether everything has arrived."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from agents.hypervisors import paths, target
from agents.hypervisors.free_place import free_place
from agents.hypervisors.ports import ports
from agents.hypervisors.qemu import mirror, transfer
from agents.hypervisors.qemu.condition import POSTCOPY
from agents.hypervisors.qemu.monitor import CommandRefused, Session
from agents.hypervisors.target import DISK, HostPort
from controller.wire.moves import Target, Tuning


async def wait(
    session: Session, addresses: Sequence[str], tuning: Tuning, options: Mapping[str, str], unix: str, disk: str | None
) -> Target:
    """Wait at the first of `addresses`, and for subflows at the others; return these places. Over a thin line QEMU
    waits at the sockets `unix` and `disk`, and weft-transfer is to wait at the places. `disk` is None if there is none.
    Raises HypervisorError."""
    thin = transfer.thin(tuning, options)
    free, multipath = ports(options), len(addresses) > 1
    copy = None
    if multipath:
        paths.make_room()
    if disk is not None:
        copy = free_place(addresses[0], free)
        inet = {"type": "inet", "data": copy.inet(multipath)}
        server = {"type": "unix", "data": {"path": disk}} if thin else inet
        await session.execute("nbd-server-start", {"addr": server})
        export = {"type": "nbd", "id": DISK, "node-name": await mirror.node(session), "name": DISK, "writable": True}
        await session.execute("block-export-add", export)
    await session.execute("migrate-set-capabilities", transfer.capabilities(tuning, options, source=False))
    await session.execute("migrate-set-parameters", transfer.parameters(tuning, options))
    first = free_place(addresses[0], free, copy)
    address = {"type": "unix", "path": unix} if thin else {"type": "inet", **first.inet(multipath)}
    channel = {"channel-type": "main", "addr": {"transport": "socket", **address}}
    await session.execute("migrate-incoming", {"channels": [channel], "exit-on-error": False})
    places = [first, *(HostPort(address, first.port) for address in addresses[1:])]
    if multipath:
        await paths.offer([*places[1:], *_others(copy, addresses)])
    return target.target(places, copy)


async def leave(waited: Target | None) -> None:
    """Stop waiting for subflows at the additional addresses."""
    if waited is None or len(waited.memory) < 2:
        return
    places = target.memory(waited)
    copy = target.disk(waited) if waited.disk else None
    await paths.withdraw([*places[1:], *_others(copy, [place.host for place in places])])


async def arrived(session: Session) -> bool:
    """Return whether the guest could run."""
    state = (await session.execute("query-migrate")).get("status")
    run_state = (await session.execute("query-status"))["status"]
    return run_state != "inmigrate" and state in ("completed", *POSTCOPY)


async def release(session: Session) -> None:
    """Close the disk to writes from the source."""
    with suppress(CommandRefused):  # there is no server, or not any more
        await session.execute("nbd-server-stop")


def _others(copy: HostPort | None, addresses: Sequence[str]) -> list[HostPort]:
    return [HostPort(address, copy.port) for address in addresses[1:]] if copy else []
