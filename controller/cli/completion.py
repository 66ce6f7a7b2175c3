"""Names for the shell to complete. If the controller is unreachable or refuses, there are none, and quickly."""

from collections.abc import Callable

import typer

from controller.cli.session import session

PATIENCE = 1.0
"""Seconds that a user waits for the Tab key."""


def names(noun: str) -> Callable[[typer.Context, str], list[str]]:
    """Return a function that completes the names of a collection (`cloudlets`, `endpoints`, `vcps`, `devices`)."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from controller.cli.client import Client, path
        from controller.cli.failures import Failure

        for option in ("url", "context"):
            given = context.params.get(option) or context.find_root().params.get(option)
            setattr(session, option, given or getattr(session, option))
        try:
            with Client(timeout=PATIENCE) as api:
                return [item["name"] for item in api.items(path(noun)) if item["name"].startswith(incomplete)]
        except (Failure, KeyError, TypeError):
            return []

    return complete
