"""Secrets that the controller tells once, and a new file for one."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli.failures import CheckFailed, WrongUsage

To = Annotated[Path | None, typer.Option(metavar="FILE", help="A new file for the secret, readable only by you.")]


def told(answer: dict[str, Any], field: str, remedy: str) -> str:
    """Return the secret in an answer. Raises CheckFailed if it is null, as in a repeated answer; the remedy is the
    command that makes another."""
    if not answer[field]:
        raise secret_lost(remedy)
    return str(answer[field])


def secret_lost(remedy: str) -> CheckFailed:
    """Return the failure of a change that was made, and whose first answer, the only one with the secret, was lost."""
    text = "this is done, but the secret was lost with the controller's first answer, and is not told again"
    return CheckFailed(text, f"  {remedy}")


@contextmanager
def secret_file(to: Path | None, option: str = "--to") -> Iterator[Callable[[str], None]]:
    """Yield a function that writes the secret. The file is made before, so that no secret is told in vain, and does not
    stay if nothing is written. Raises WrongUsage, which names the option."""
    if to is None:
        yield lambda secret: None
        return
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise WrongUsage(f"{option}: cannot make {to}: {error.strerror}") from None
    written = False
    with os.fdopen(descriptor, "w") as file:

        def write(secret: str) -> None:
            nonlocal written
            file.write(secret + "\n")
            written = True

        try:
            yield write
        finally:
            if not written:
                to.unlink()
