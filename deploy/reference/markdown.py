"""A reference page as Markdown, and the parts of Markdown that all references share."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from deploy.reference.command_page import Command, CommandPage, Option

_OPTIONS = ("option", "meaning")

_MOST = 0.8
"""The share of commands that take an option which is not repeated with each of them."""

_VARIABLE = re.compile(r"\b[A-Z]+_[A-Z_]+\b")


def markdown(page: CommandPage) -> str:
    """Return the sections of a program. Options that nearly all of its commands take stand before the commands."""
    parts = [f"## {page.program}"]
    for title, note in page.notes:
        if re.search(r"^ ", note, re.MULTILINE):
            parts += [f"**{title.capitalize()}**", fenced(note.strip("\n"))]
        else:
            parts += [text(" ".join(part.split())) for part in note.split("\n\n") if part.strip()]
    common = _common(page.commands)
    if common:
        parts += ["Commands take these options, unless they say that they do not:", table(_OPTIONS, map(_row, common))]
    for command in page.commands:
        parts += _command(command, common, headed=len(page.commands) > 1)
    return "\n\n".join(parts) + "\n"


def _common(commands: Sequence[Command]) -> list[Option]:
    counts = Counter(option for command in commands for option in command.options)
    return [option for option, count in counts.items() if count >= _MOST * len(commands) > _MOST]


def _command(command: Command, common: Sequence[Option], *, headed: bool) -> Iterator[str]:
    if headed:
        yield f"### {command.words}"
        yield f"`{f'{command.words} {command.usage}'.strip()}`"
    for part in re.split(r"\n\s*\n", command.help.strip()):
        if part.strip():
            yield text(" ".join(part.split()))
    if options := [one for one in command.options if one not in common]:
        yield table(_OPTIONS, map(_row, options))
    if lacking := [one for one in common if one not in command.options]:
        yield f"It does not take {', '.join(code(one.names) for one in lacking)}."
    if command.examples:
        yield fenced("\n".join(command.examples))


def _row(option: Option) -> tuple[str, str]:
    return code(option.names), text(" ".join(option.help.split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are Markdown without line ends."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def fenced(lines: str) -> str:
    """Return lines as a block of code."""
    return f"```\n{lines}\n```"


def code(words: str) -> str:
    """Return words as code."""
    return f"`{words}`" if words else ""


def text(words: str) -> str:
    """Return a text in which Markdown finds no HTML or emphasis; parts in backquotes stay code, and names of
    variables become code."""
    parts = words.split("`")
    return "`".join(part if odd % 2 else _plain(part) for odd, part in enumerate(parts))


def _plain(words: str) -> str:
    return _VARIABLE.sub(r"`\g<0>`", re.sub(r"([<>*])", r"\\\1", words))
