"""A program of commands: from its arguments to its exit code, even if its output cannot be written."""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from controller.cli.failures import INTERRUPTED, UNHEARD, UNTOLD, WrongUsage, untold
from controller.cli.noun import Noun
from controller.cli.output import complain
from controller.cli.session import session


def run_program(app: Noun, name: str, arguments: Sequence[str]) -> int:
    """Run one command of a program, and return the exit code."""
    session.program = name
    out, err = sys.stdout, sys.stderr = [_writable(stream) for stream in (sys.stdout, sys.stderr)]
    if any("\udc80" <= character <= "\udcff" for word in arguments for character in word):
        complain("an argument is not UTF-8 text")
        return WrongUsage.exit_code
    try:
        app(list(arguments), prog_name=name)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = UNHEARD
    except OSError as error:
        complain(untold(error))
        code = UNTOLD
    else:
        code = 0
    if (sys.stdout, sys.stderr) != (out, err):  # typer found that the reader has gone
        (sys.stdout, sys.stderr), code = (out, err), UNHEARD
    return _flushed(code)


def _writable(stream: TextIO | None) -> TextIO:
    """Return a stream that accepts any text; for a closed one, a stream that discards it."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # for example ✓ in a locale without it
    return stream


def _flushed(code: int) -> int:
    """Return the exit code, after writing the rest of the output."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        code = UNHEARD
    except OSError as error:
        if code != UNTOLD:  # else it was said: some releases of Python repeat the failed write
            complain(untold(error))
        code = UNTOLD
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
