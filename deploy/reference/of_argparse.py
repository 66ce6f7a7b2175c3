"""The reference page of a program that argparse reads the command line of."""

import argparse
from collections.abc import Iterator

from deploy.reference.command_page import Command, CommandPage, Option


def page(parser: argparse.ArgumentParser, summary: str) -> CommandPage:
    """Return the page of a program; its epilog becomes a section of its own."""
    notes = [("DESCRIPTION", parser.description or "")]
    title, colon, text = (parser.epilog or "").partition(":\n")
    if colon:
        notes.append((title.upper(), text))
    return CommandPage(parser.prog, summary, tuple(_commands(parser, "")), tuple(notes))


def _commands(parser: argparse.ArgumentParser, help: str) -> Iterator[Command]:
    options, arguments = list[Option](), list[str]()
    below: list[tuple[argparse.ArgumentParser, str]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            below += [(child, helps.get(name, "")) for name, child in action.choices.items()]
        elif action.option_strings:
            meta = f" {_value(action)}" if action.nargs != 0 else ""
            options.append(Option(", ".join(action.option_strings) + meta, action.help or ""))
        else:
            arguments.append(_value(action))
            options.append(Option(_value(action), action.help or ""))
    yield Command(parser.prog, help, " ".join(arguments), tuple(options))
    for child, said in below:
        yield from _commands(child, said)


def _value(action: argparse.Action) -> str:
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())
