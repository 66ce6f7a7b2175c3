"""Questions before a change, on a terminal. Programs, whose input or output is a pipe, are not asked."""

import sys

import typer

from controller.cli.failures import CheckFailed

HARMFUL = frozenset({"drain", "leave", "overtake", "remove", "revoke"})
"""Verbs that take something away from devices, tenants or operators."""


def confirm(question: str, yes: bool) -> None:
    """Ask the user whether to go on, unless `yes`. Raises CheckFailed if the answer is no."""
    if not yes and interactive() and not typer.confirm(f"{question}: go on?", err=True):
        raise CheckFailed("nothing was changed")


def interactive() -> bool:
    """Return whether a user sits at a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def words(context: typer.Context) -> str:
    """Return the command that runs, with its arguments, as a user has typed it."""
    arguments = [one.name for one in context.command.params if one.param_type_name == "argument"]
    given = [context.params.get(name) for name in arguments if name is not None]
    texts = [str(one) for value in given for one in (value if isinstance(value, list) else [value]) if one is not None]
    return " ".join([context.command_path, *texts])
