"""Failures that end a command. Each has an exit code."""

from collections.abc import Sequence

DEFECT = 70
"""Exit code: a defect of weft itself (sysexits.h: EX_SOFTWARE)."""

UNTOLD = 74
"""Exit code: the output cannot be written, for example because a disk is full (EX_IOERR)."""

INTERRUPTED = 130
"""Exit code: Ctrl-C, as shells report it."""

UNHEARD = 141
"""Exit code: the reader of standard output has gone (`| head`), as shells report it."""


def untold(error: OSError) -> str:
    """Return the message that something cannot be read or written."""
    return f"cannot read or write{f' {error.filename}' if error.filename else ''}: {error.strerror or error}"


class Failure(Exception):  # noqa: N818 - not every one is an error
    """A readable message, line by line, and an exit code."""

    exit_code = 1

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class CheckFailed(Failure):
    """1: a check failed, or differences were found."""


class WrongUsage(Failure):
    """2: the command line is wrong in a way that only the command can see."""

    exit_code = 2


class Refused(Failure):
    """3: the controller refused the request. `problem` is the problem document (RFC 9457)."""

    exit_code = 3

    def __init__(self, problem: dict[str, object], lines: Sequence[str]) -> None:
        super().__init__(*lines)
        self.problem = problem


class Unreachable(Failure):
    """4: no controller answers, or it cannot answer now."""

    exit_code = 4
