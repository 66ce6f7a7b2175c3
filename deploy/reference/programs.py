"""The programs of Weft, and their reference pages."""

from collections.abc import Callable, Mapping

from deploy.reference import of_argparse, of_go, of_typer
from deploy.reference.command_page import CommandPage

PROGRAMS: Mapping[str, str] = {
    "weft": "joins cloudlets into Virtual Cloud Pools",
    "weft-controller": "the controller of a region of cloudlets",
    "weft-agent": "the agent of one cloudlet",
    "weft-routeserver": "BGP route server of a region of cloudlets",
}
"""Each program, in a sentence."""

Help = Callable[[str], str]
"""Returns the text that a Go program prints for --help."""


def page(program: str, go: Help) -> CommandPage:
    """Return the reference page of one of the programs. Raises KeyError for another, and the errors of `go`."""
    summary = PROGRAMS[program]
    if program == "weft":
        from controller.cli.main import app

        return of_typer.page(app, program, summary)
    if program == "weft-controller":
        from controller.main import parser as controller

        return of_argparse.page(controller(), summary)
    if program == "weft-agent":
        from agents.main import parser as agent

        return of_argparse.page(agent(), summary)
    return of_go.page(program, summary, go(program))
