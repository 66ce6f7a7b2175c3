"""All commands of `weft` with their help."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typer.main import get_command

from controller.cli.main import app


@dataclass(frozen=True)
class Command:
    """One command or noun; `name` is the words after `weft`."""

    name: str
    made: Any

    @property
    def help(self) -> str:
        return str(self.made.help or "")

    @property
    def options(self) -> list[tuple[str, str]]:
        """The names and help texts of the command's own options and arguments."""
        return [(p.opts[0], str(getattr(p, "help", None) or "")) for p in self.made.params if p.name != "help"]

    @property
    def examples(self) -> list[list[str]]:
        """The words after `weft` of each example, as a shell would take them before a pipe."""
        lines = str(self.made.epilog or "").splitlines()[2:]
        return [shlex.split(re.split(r" [|<>] ", line.split("weft ", 1)[1])[0]) for line in lines]


def walk(made: Any, name: str = "") -> Iterator[Command]:
    if name:
        yield Command(name, made)
    for verb, part in getattr(made, "commands", {}).items():
        yield from walk(part, f"{name} {verb}".strip())


COMMAND = get_command(app)
ALL = list(walk(COMMAND))
COMMANDS = [one for one in ALL if not hasattr(one.made, "commands")]
EXAMPLES = [words for one in COMMANDS for words in one.examples]
