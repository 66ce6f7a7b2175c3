"""The disk's copy at the target: a block job that first copies, then follows (QMP `blockdev-mirror`), over NBD. Over a
thin line QEMU speaks with the weft-transfer beside it.

While the job copies, the guest's writes go to the target in the background (`background`). Once the memory is almost
there, and until the switchover, each write waits for the target (`write-blocking`), so that nothing is left to copy in
the pause.
"""

import asyncio
from typing import Any

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.monitor import CommandRefused, Session
from agents.hypervisors.target import DISK

JOB, NODE = "mirror", "target"
_POLL = 0.005


async def node(session: Session) -> str:
    """Return the block node of the machine's disk. Raises HypervisorError if it has none."""
    for device in await session.execute("query-block"):
        if inserted := device.get("inserted"):
            return str(inserted["node-name"])
    raise HypervisorError("the machine has no disk")


async def begin(session: Session, server: dict[str, Any], bandwidth: int | None) -> None:
    """Start the job unless it runs already. `server` is QMP's `SocketAddress`, `bandwidth` in bytes per second."""
    if await job(session) is not None:
        return
    await _forget(session)
    await session.execute(
        "blockdev-add", {"driver": "nbd", "node-name": NODE, "server": server, "export": DISK, "discard": "unmap"}
    )
    options: dict[str, Any] = {"job-id": JOB, "device": await node(session), "target": NODE, "sync": "top"}
    options |= {"copy-mode": "background", "auto-dismiss": False, "speed": bandwidth or 0}
    await session.execute("blockdev-mirror", options)


async def job(session: Session) -> dict[str, Any] | None:
    """Return QMP's `BlockJobInfo`; None if there is no job. Raises HypervisorError if the job has failed."""
    for found in await session.execute("query-block-jobs"):
        if found["device"] == JOB:
            if error := found.get("error"):
                await _forget(session)
                raise HypervisorError(f"the disk cannot be copied: {error}")
            copying: dict[str, Any] = found
            return copying
    return None


async def there(session: Session) -> dict[str, Any]:
    """Return the job. Raises HypervisorError if there is none."""
    found = await job(session)
    if found is None:
        raise HypervisorError("the disk's copy is not there any more")
    return found


async def follow(session: Session) -> None:
    """Let writes wait for the target from now on. Raises HypervisorError if there is no copy."""
    if (await there(session))["status"] != "concluded":
        await session.execute("block-job-change", {"id": JOB, "type": "mirror", "copy-mode": "write-blocking"})


async def finish(session: Session) -> None:
    """End the copy, when the target has everything that the stopped guest wrote. Raises HypervisorError if it does not.
    The job stays on QEMU's list as proof for a second call."""
    found = await there(session)
    if found["status"] == "concluded":
        return
    if not found["ready"]:
        raise HypervisorError("the disk's copy has not caught up")
    await session.execute("block-job-cancel", {"device": JOB, "force": False})  # a ready job ends with both sides equal
    await _concluded(session)  # its node stays: its removal would flush it once more, a round trip in the pause


async def cancel(session: Session) -> None:
    """End the copy, if there is one, without waiting for the target."""
    try:
        found = await job(session)
        if found is not None and found["status"] != "concluded":
            await session.execute("block-job-cancel", {"device": JOB, "force": True})
            await _concluded(session)
    except CommandRefused:
        raise
    except HypervisorError:
        pass  # it has failed already
    await _forget(session)


async def _concluded(session: Session) -> None:
    while True:
        found = await job(session)
        if found is None or found["status"] == "concluded":
            return
        await asyncio.sleep(_POLL)


async def _forget(session: Session) -> None:
    for command, arguments in (("job-dismiss", {"id": JOB}), ("blockdev-del", {"node-name": NODE})):
        try:
            await session.execute(command, arguments)
        except CommandRefused:
            continue  # it is not there
