"""Programs that the agent runs beside itself for a while, and whose lines it reads. A program never outlives the call
that runs it, nor the agent: one of an agent that was killed would be in the way of the next one's.

Programs that are called for one answer are in `command.py`; those that outlive the agent in `hypervisors/detached.py`.
"""

import asyncio
import errno
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress

from agents.answer import printable

LINE = 1 << 16
"""Most bytes of a line. Longer ones are cut into several."""

_DIES_WITH_US = ("setpriv", "--pdeathsig", "TERM")
_SHOWN = 800  # characters of a complaint
_ENDS = 5.0  # seconds


async def follow(
    argv: Sequence[str],
    heard: Callable[[bytes], None],
    complained: Callable[[str], None],
    seconds: float | None = None,
) -> int | None:
    """Run a program to its end, and return its exit code; None if it was ended after `seconds`. `heard` gets each line
    of its output, `complained` each printable one that it complains of. Raises OSError if it cannot start."""
    if shutil.which(argv[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    process = await asyncio.create_subprocess_exec(
        *_DIES_WITH_US, *argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, process_group=0
    )
    assert process.stdout is not None and process.stderr is not None
    readers = [
        asyncio.create_task(_lines(process.stdout, heard)),
        asyncio.create_task(
            _lines(process.stderr, lambda line: complained(printable(line.decode(errors="replace"), _SHOWN)))
        ),
    ]
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*readers)
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        await _end(process)
        for task in readers:
            task.cancel()
        await asyncio.wait(readers)


async def _lines(stream: asyncio.StreamReader, heard: Callable[[bytes], None]) -> None:
    """Pass each line on, without its end."""
    rest = b""
    while some := await stream.read(LINE):
        *lines, rest = (rest + some).split(b"\n")
        for line in lines:
            heard(line)
        if len(rest) > LINE:
            heard(rest)
            rest = b""
    if rest:
        heard(rest)


async def _end(process: Process) -> None:
    """End the program and those that it has started: by a request first, and for good when it takes too long."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(_ENDS):
                await process.wait()
        except TimeoutError:
            pass
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # also what it has left behind
    await process.wait()
