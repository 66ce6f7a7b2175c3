"""The environment in a program's help, taken apart."""

import re


def described(text: str) -> dict[str, str | None]:
    """Return the variables of a help text, each with the default in parentheses, if it has one."""
    entries = re.split(r"\n(?=  \S)", text.partition("\n")[2])
    found: dict[str, str | None] = {}
    for entry in entries:
        name, _, words = " ".join(entry.split()).partition(" ")
        default = re.search(r"\(([^() ]+)\)", words)
        found[name] = default[1] if default else None
    return found
