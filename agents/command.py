"""Programs that the agent calls for one answer (nft, ip, ss, qemu-img): none outlives the call, however that ends."""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program left: its exit code, and what it wrote."""

    code: int
    out: str
    complaint: str


async def run(*argv: str, stdin: str = "", seconds: float | None = None, umask: int = -1) -> Ended:
    """Runs it to its end; files that it makes are as `umask` allows (-1: as ours does). Raises FileNotFoundError if
    there is no such program, OSError if it cannot start, and TimeoutError after `seconds`; whoever is cancelled
    meanwhile takes the program along."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, process_group=0, umask=umask
    )
    try:
        async with asyncio.timeout(seconds):
            out, complaint = await process.communicate(stdin.encode())
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what it has started, which holds its pipes too
        await process.communicate(b"")  # the pipes are closed when they have been read to their ends
        raise
    code = await process.wait()
    return Ended(code, out.decode(errors="replace"), complaint.decode(errors="replace"))
