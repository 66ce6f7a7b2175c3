"""How a command ends when it does not end well. The number is the exit code."""

from collections.abc import Sequence


class Failure(Exception):  # noqa: N818 - not every one is an error
    """A message for people, line by line, and an exit code."""

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
    """3: the controller refused. `problem` is the problem document (RFC 9457)."""

    exit_code = 3

    def __init__(self, problem: dict[str, object], lines: Sequence[str]) -> None:
        super().__init__(*lines)
        self.problem = problem


class Unreachable(Failure):
    """4: no controller answers, or it is in no state to answer."""

    exit_code = 4
