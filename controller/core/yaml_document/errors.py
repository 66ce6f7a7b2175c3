"""Errors of a document, with their places."""

from collections.abc import Iterable
from dataclasses import dataclass

MAX_ERRORS = 200
"""The most errors that are collected: nobody reads more, and a hostile file has as many as it has characters."""


@dataclass(frozen=True, order=True)
class DocumentError:
    """One error, or one warning. `line` and `column` count from 1; `field` is a path such as `vcps.blue.members[2]`,
    empty when the error is about the whole document. `message` is a whole sentence, for users; `suggestion` is the
    value that was probably meant, for programs, empty if nothing comes close."""

    file: str
    line: int
    column: int
    field: str
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class DocumentInvalid(ValueError):  # noqa: N818 - it says what is, as the field does
    """A document that is refused, with the errors found (all, up to MAX_ERRORS), in the order of the file. `noun` is
    the name of its kind."""

    noun = "file"

    def __init__(self, errors: Iterable[DocumentError]) -> None:
        self.errors: tuple[DocumentError, ...] = tuple(sorted(set(errors)))
        super().__init__("\n".join(map(str, self.errors)))
