"""What is wrong with a policy, and where."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class PolicyError:
    """One error. `line` and `column` count from 1; `field` is a path such as `vcps.blue.members[2]`, empty when the
    error is about the whole document."""

    file: str
    line: int
    column: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class PolicyInvalid(ValueError):  # noqa: N818 - it says what is, as the field does
    """A policy that cannot be taken, with every error found, in the order of the file."""

    def __init__(self, errors: Iterable[PolicyError]) -> None:
        self.errors: tuple[PolicyError, ...] = tuple(sorted(set(errors)))
        super().__init__("\n".join(map(str, self.errors)))
