"""Programs that are no children of the agent, and outlive it."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def detached(folder: Path, argv: Sequence[str], log: Path) -> AsyncIterator[int]:
    """Start a program in `folder` that outlives the agent, with its output in `log`. Yield a descriptor that reads the
    end of a file when the program has ended. Raises OSError."""
    ours, its = os.pipe()  # the program inherits the other end, and never writes to it
    try:
        try:
            with log.open("wb") as words:
                program = await asyncio.create_subprocess_exec(
                    "setsid", "--fork", *argv, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=words, stderr=words,
                    pass_fds=(its,),
                )  # fmt: skip
        finally:
            os.close(its)
        await program.wait()
        yield ours
    finally:
        os.close(ours)
