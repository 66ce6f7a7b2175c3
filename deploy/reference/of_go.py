"""The reference page of a Go program, from what it prints for --help (package flag)."""

import re

from deploy.reference.command_page import Command, CommandPage, Option

_OPTION = re.compile(r"^  -(\S+)(?: (.+?))?(?:\t(.*))?$")


def page(program: str, summary: str, said: str) -> CommandPage:
    """Return the page of a program without commands. Before its options the text is the description."""
    lines = said.splitlines()
    first = next((at for at, line in enumerate(lines) if _OPTION.match(line)), len(lines))
    options: list[Option] = []
    for line in lines[first:]:
        if found := _OPTION.match(line):
            name, value, text = found.groups()
            options.append(Option(f"--{name}" + (f" {value}" if value else ""), text or ""))
        elif options:
            last = options[-1]
            options[-1] = Option(last.names, f"{last.help} {line.strip()}".strip())
    notes = (("DESCRIPTION", "\n".join(lines[:first]).strip()),)
    return CommandPage(program, summary, (Command(program, "", "", tuple(options)),), notes)
