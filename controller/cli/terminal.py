"""The terminal that `weft` prints to, if any: its width, and whether it shows colours. Apart from the bar of
`moves.py`, only this file imports Rich, and only when needed, because loading it takes time."""

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from controller.cli.cells import StateWord, Title, Tone, toned
from controller.cli.session import Color, session

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {Tone.GOOD: "green", Tone.WARNING: "yellow", Tone.ALARM: "bold red"}
SIGNED = re.compile("( *)([✓✗·+~!-]) ")
"""The beginning of a line with a sign."""


def room() -> int | None:
    """Return the columns of the terminal; None without a terminal, because piped output has no width limit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def clear() -> None:
    """Clear the terminal, if there is one (ECMA-48: CUP, ED)."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[H\x1b[2J")


def width_of(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def console(stream: TextIO) -> "Console | None":
    """Return the console for colours; None if colours are not wanted: `--color`, else no terminal, NO_COLOR, or
    TERM=dumb."""
    if session.color is Color.NEVER or (session.color is Color.AUTO and not stream.isatty()):
        return None
    from rich.console import Console as Painter

    if session.color is Color.ALWAYS:
        return Painter(file=stream, force_terminal=True, color_system="standard", no_color=False, highlight=False)
    found = Painter(file=stream, highlight=False)
    return found if found.color_system and not found.no_color else None


def show(lines: Iterable[Sequence[str]], stream: TextIO | None = None) -> None:
    """Print lines of cells at once, because a program may read a stream."""
    to = stream or sys.stdout
    painter = console(to)
    if painter is None:
        to.writelines("".join(line) + "\n" for line in lines)
    else:
        from rich.text import Text

        with painter.capture() as painted:  # Rich would handle a broken pipe itself
            for line in lines:
                painter.print(Text.assemble(*((cell, _style(cell)) for cell in line)), soft_wrap=True)
        to.write(painted.get())
    to.flush()


def signed(line: str) -> list[str]:
    """Return a sentence with its leading sign in colour."""
    found = SIGNED.match(line)
    return [line] if found is None else [found[1], toned(found[2]), line[found.end(2) :]]


def differing(line: str) -> list[str]:
    """Return a line of a unified diff."""
    if line.startswith(("+++", "---", "@@")):
        return [Title(line)]
    return [StateWord(line, toned(line[:1]).tone)] if line[:1] in ("+", "-") else [line]


def _style(cell: str) -> str:
    if isinstance(cell, Title):
        return "bold"
    return COLOURS.get(cell.tone, "") if isinstance(cell, StateWord) and cell.tone else ""
