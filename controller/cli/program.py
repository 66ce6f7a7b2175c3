"""A program of commands: from its arguments to its exit code, whatever becomes of its output."""

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
    """Run one command of a program; the exit code."""
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
    if (sys.stdout, sys.stderr) != (out, err):  # typer found that nobody reads
        (sys.stdout, sys.stderr), code = (out, err), UNHEARD
    return _flushed(code)


def _writable(stream: TextIO | None) -> TextIO:
    """A stream that takes any text: one that is closed takes it, too, and forgets it."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # ✓ where the locale has no such sign
    return stream


def _flushed(code: int) -> int:
    """The exit code, after what is left to write is written."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        code = UNHEARD
    except OSError as error:
        if code != UNTOLD:  # else that was said: some releases of Python try again what could not be written
            complain(untold(error))
        code = UNTOLD
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
