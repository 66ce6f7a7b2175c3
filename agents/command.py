"""Programs that the agent calls for one answer (nft, ip, ss, qemu-img). A program never outlives the call, even if the
call fails or is cancelled."""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE

LONGEST = 2**26
"""Most bytes that a program may write to each of its two streams: a few times the output of nft for the largest
ruleset."""


class Overlong(OSError):  # noqa: N818 - it says what it was
    """A program wrote more than LONGEST bytes."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code of a program that has ended, and its output."""

    code: int
    out: str
    complaint: str


async def run(*argv: str, stdin: str = "", seconds: float | None = None, umask: int = -1) -> Ended:
    """Run the program to its end. The files that it makes get their modes by `umask` (-1: the agent's own). Raises
    FileNotFoundError if there is no such program, OSError if it cannot start or writes too much (Overlong), and
    TimeoutError after `seconds`. A call that fails or is cancelled kills the program."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, process_group=0, umask=umask
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    fed = asyncio.create_task(_feed(process.stdin, stdin.encode()))
    read = [asyncio.create_task(_read(stream, argv[0])) for stream in (process.stdout, process.stderr)]
    try:
        async with asyncio.timeout(seconds):
            out, complaint = await asyncio.gather(*read)
            await fed
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and the programs that it has started, which hold its pipes too
        for task in (fed, *read):
            task.cancel()
        await asyncio.wait((fed, *read))
        await process.communicate(b"")  # the pipes are closed when they have been read to their ends
        raise
    code = await process.wait()
    return Ended(code, out.decode(errors="replace"), complaint.decode(errors="replace"))


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    """Write the data and close the stream. The program need not read all of it."""
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader, program: str) -> bytes:
    found = bytearray()
    while some := await stream.read(2**16):
        found += some
        if len(found) > LONGEST:
            raise Overlong(f"{program} wrote more than {LONGEST} bytes")
    return bytes(found)
