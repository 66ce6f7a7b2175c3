"""Reference pages have every command and option of the programs, and as manual pages they are well-formed."""

import re
import subprocess

import pytest
import typer

from agents.main import parser as agent
from controller.cli.main import app
from controller.main import ENVIRONMENT
from controller.main import parser as controller
from deploy.packages.man_pages import completions
from deploy.reference import of_argparse, of_go, of_typer
from deploy.reference.command_page import Command, CommandPage, Option
from deploy.reference.roff import roff

GO = """weft-routeserver: reflects routes.

It listens.

  -active
    \talso open connections
  -name name
    \tthis route server's name,
    \tas the controller knows it
"""


@pytest.fixture(scope="module")
def weft() -> CommandPage:
    return of_typer.page(app, "weft", "joins cloudlets")


def test_every_verb_is_there_with_its_options(weft: CommandPage) -> None:
    words = [command.words for command in weft.commands]
    assert {"weft vcp join", "weft route explain", "weft doctor", "weft policy plan"} <= set(words)
    assert len(words) == len(set(words)) > 80
    join = next(command for command in weft.commands if command.words == "weft vcp join")
    assert {option.names.split()[0] for option in join.options} >= {"VCP", "--confirm-within", "--url"}
    assert join.examples and all(line.startswith("weft ") for line in join.examples)


def test_every_option_says_what_it_does(weft: CommandPage) -> None:
    pages = (weft, of_argparse.page(controller(), "controller"), of_argparse.page(agent(), "agent"))
    silent = [
        f"{command.words} {option.names}"
        for page in pages
        for command in page.commands
        for option in command.options
        if not option.help and option.names.startswith("-")
    ]
    assert silent == []


def test_argparse_has_its_commands_and_environment() -> None:
    page = of_argparse.page(controller(), "controller")
    words = {command.words for command in page.commands}
    assert {"weft-controller", "weft-controller copy", "weft-controller ca init"} <= words
    [environment] = [text for title, text in page.notes if title == "ENVIRONMENT"]
    assert environment == ENVIRONMENT.partition("\n")[2]


def test_go_options_are_read_from_their_help() -> None:
    [command] = of_go.page("weft-routeserver", "reflects routes", GO).commands
    assert command.options == (
        Option("--active", "also open connections"),
        Option("--name name", "this route server's name, as the controller knows it"),
    )


def test_roff_takes_no_text_for_a_request() -> None:
    command = Command("x", "", "", (Option("--a-b", ".SH it\nis"), Option("-c", "'tis \\n")), (".x",))
    text = roff(CommandPage("x", "does x", (command,), (("DESCRIPTION", "'A\n\n.B"),)), 1, "1.0")
    lines = text.splitlines()
    assert "\\&.SH it is" in lines and "\\&'tis \\en" in lines and "\\&.x" in lines and "\\&.B" in lines
    assert "\\fB\\-\\-a\\-b\\fR" in lines


def test_groff_has_no_complaint(weft: CommandPage) -> None:
    pages = (weft, of_argparse.page(controller(), "controller"), of_go.page("weft-routeserver", "reflects", GO))
    for page in pages:
        argv = ["groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-Wbreak", "-z"]
        done = subprocess.run(argv, input=roff(page, 8, "1.0"), capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, f"{page.program}: {done.stderr[:2000]}"


def test_shells_have_completion_scripts() -> None:
    scripts = completions()
    assert len(scripts) == 3
    assert all(re.search("_WEFT_COMPLETE", script) for script in scripts.values())


def test_a_program_of_typer_may_have_one_command() -> None:
    one = typer.Typer()

    @one.command()
    def only(name: str) -> None:
        """Greet."""

    [command] = of_typer.page(one, "one", "greets").commands
    assert (command.words, command.usage, command.help) == ("one", "name", "Greet.")
