"""The content of a reference page on a program: its commands and options, however the program reads them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """An option or an argument: `names` as they are typed, with the placeholder of its value."""

    names: str
    help: str


@dataclass(frozen=True)
class Command:
    """A command: `words` begin with the program, `usage` follows them. `examples` are whole lines."""

    words: str
    help: str
    usage: str = ""
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommandPage:
    """A program, with its commands; `notes` are further sections by title, as text with its own lines."""

    program: str
    summary: str
    commands: tuple[Command, ...]
    notes: tuple[tuple[str, str], ...] = ()
