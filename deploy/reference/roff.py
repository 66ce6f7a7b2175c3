"""A reference page as a manual page (man(7))."""

import re

from deploy.reference.command_page import CommandPage, Option


def roff(page: CommandPage, section: int, version: str) -> str:
    """Return the text of a manual page in a section of the manual."""
    lines = [
        f'.TH {page.program.upper()} {section} "" "Weft {_plain(version)}" "Weft"',
        ".SH NAME",
        f"{_plain(page.program)} \\- {_plain(page.summary)}",
        ".SH SYNOPSIS",
    ]
    for command in page.commands:
        lines += [".br", f"\\fB{_plain(command.words)}\\fR {_plain(command.usage)}".strip()]
    for title, text in page.notes:
        lines += [f".SH {title}", *(_literal(text) if re.search(r"^ ", text, re.MULTILINE) else _paragraphs(text))]
    lines.append(".SH COMMANDS" if len(page.commands) > 1 else ".SH OPTIONS")
    for command in page.commands:
        if len(page.commands) > 1:
            lines += [f".SS {_plain(command.words)} {_plain(command.usage)}".strip(), *_paragraphs(command.help)]
        for option in command.options:
            lines += _option(option)
        if command.examples:
            lines += [".PP", "Examples:", *_literal("\n".join(command.examples))]
    return "\n".join(lines) + "\n"


def _option(option: Option) -> list[str]:
    text = _line(" ".join(option.help.split()))
    return [".TP", f"\\fB{_plain(option.names)}\\fR", *([text] if text else ["\\&"])]


def _paragraphs(text: str) -> list[str]:
    found: list[str] = []
    for part in re.split(r"\n\s*\n", text.strip()):
        if part.strip():
            found += [".PP", _line(" ".join(part.split()))]
    return found


def _literal(text: str) -> list[str]:
    return [".PP", ".nf", *(_line(line) for line in text.strip("\n").splitlines()), ".fi"]


def _line(text: str) -> str:
    """Escape a line, which may begin with a character that roff takes for a request."""
    plain = _plain(text)
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain


def _plain(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")
