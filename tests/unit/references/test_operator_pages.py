"""The operators' pages name commands and options that exist, and every port that programs use."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from agents.check.ports import wanted
from agents.hypervisors.ports import USUAL
from agents.settings import IpsecSettings, Settings
from deploy.reference.command_page import Command
from deploy.reference.programs import page
from tests.house.imports import ROOT

OPERATE = ROOT / "docs/operate"
PAGES = ("day2.md", "troubleshooting.md", "ports.md", "security-checklist.md", "sizing.md", "upgrade.md", "runbook.md")
PROGRAMS = ("weft", "weft-controller", "weft-agent")


@cache
def known() -> dict[str, Command]:
    return {command.words: command for name in PROGRAMS for command in page(name, lambda _: "").commands}


def named(text: str) -> list[str]:
    """Return the commands in a page's code, spans and blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    lines = [line for block in blocks for line in block.splitlines()] + [" ".join(span.split()) for span in spans]
    return [line.partition(" #")[0].strip() for line in lines if line.split(" ")[0] in PROGRAMS and " " in line]


def found(line: str) -> tuple[Command | None, list[str]]:
    """Return the command of a line and the options that the line gives; None if there is no such command."""
    words = shlex.split(line)
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    for number in (3, 2, 1):
        if command := known().get(" ".join([word for word in words if not word.startswith("-")][:number])):
            return command, options
    return None, options


def options_of(command: Command) -> set[str]:
    """Return the options that a command takes, with those of the program before its commands."""
    pages = [command, known().get(command.words.split()[0], command)]
    names = {name for one in pages for option in one.options for name in re.findall(r"--?[\w-]+", option.names)}
    return names | {"--help", "--version", "--output", "-o"}


@pytest.mark.parametrize("name", PAGES)
def test_commands_exist_with_their_options(name: str) -> None:
    lines = named((OPERATE / name).read_text())
    for line in lines:
        command, options = found(line)
        assert command is not None, f"{name}: {line}"
        assert len(command.words.split()) > 1 or options, f"{name}: {line}"
        assert set(options) <= options_of(command), f"{name}: {line}"
    assert lines or name in ("sizing.md", "ports.md")


def test_a_wrong_command_is_found() -> None:
    assert found("weft cloudlet drian c1")[0] is None
    command, options = found("weft cloudlet drain c1 --fast")
    assert command is not None and not set(options) <= options_of(command)
    assert named("`weft doctor`, ```x``` and `weft`\n```\nweft vcp list  # all\n```\n") == [
        "weft vcp list",
        "weft doctor",
    ]


def test_every_port_of_an_agent_is_listed() -> None:
    text = (OPERATE / "ports.md").read_text()
    settings = Settings(
        cloudlet="c1", controller=("https://192.0.2.1:8443",), token_file=Path("t"), state_dir=Path("s"),
        ipsec=IpsecSettings(),
    )  # fmt: skip
    for port in wanted(settings):
        assert re.search(rf"\b{port.kind.upper()} (?:\d+, )*{port.number}\b", text), port
    assert USUAL.replace("-", "\N{EN DASH}") in text


def test_reports_that_give_figures_are_there() -> None:
    text = (OPERATE / "sizing.md").read_text()
    assert set(re.findall(r"\]\(\.\./reports/([\w-]+\.md)\)", text)) >= {
        "scale.md",
        "routeserver.md",
        "soak.md",
        "siege.md",
    }
