"""The reference page of a program that Typer reads the command line of."""

from collections.abc import Iterator
from typing import Any

import typer

from deploy.reference.command_page import Command, CommandPage, Option


def page(app: typer.Typer, program: str, summary: str) -> CommandPage:
    """Return the page of a program. Options that every command takes stand with each of them."""
    top = typer.main.get_command(app)
    commands = tuple(_commands(top, typer.Context(top, info_name=program)))
    return CommandPage(program, summary, commands, (("DESCRIPTION", top.help or ""),))


def _commands(command: Any, context: typer.Context) -> Iterator[Command]:
    children = getattr(command, "commands", None)
    if children is None:
        yield _described(command, context)
        return
    for name, child in children.items():
        if not child.hidden:
            yield from _commands(child, typer.Context(child, info_name=name, parent=context))


def _described(command: Any, context: typer.Context) -> Command:
    options, arguments = list[Option](), list[Option]()
    for parameter in command.get_params(context):
        if parameter.param_type_name != "option":
            usage = " ".join(parameter.get_usage_pieces(context)).strip("{}").replace("[[", "[").replace("]]", "]")
            arguments.append(Option(usage, parameter.help or ""))
        elif record := parameter.get_help_record(context):
            options.append(Option(*record))
    examples = [line.strip() for line in (command.epilog or "").splitlines()]
    kept = tuple(line for line in examples if line and line not in ("\b", "Examples:"))
    return Command(
        context.command_path,
        _plain(command.help or ""),
        " ".join(one.names for one in arguments),
        (*arguments, *options),
        kept,
    )


def _plain(text: str) -> str:
    return text.replace("\b\n", "").strip()
