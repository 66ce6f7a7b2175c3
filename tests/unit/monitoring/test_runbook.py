"""The runbook has a section for every alert and for nothing else, and names commands that exist."""

import re

import pytest

from tests.house.imports import ROOT
from tests.unit.cli.commands import COMMANDS
from tests.unit.monitoring.files import alerts

PAGE = ROOT / "docs/operate/runbook.md"
MOST_WORDS = 900


def test_every_alert_has_a_section_and_every_section_an_alert() -> None:
    assert re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE) == list(alerts())


@pytest.mark.parametrize("name", alerts())
def test_an_alert_leads_to_its_section(name: str) -> None:
    assert alerts()[name]["annotations"]["runbook_url"] == f"{PAGE.relative_to(ROOT)}#{name.lower()}"


def test_commands_exist() -> None:
    said = re.findall(r"`weft ([^`]+)`", PAGE.read_text())
    assert said
    known = {command.name: {option for option, _ in command.options} for command in COMMANDS}
    for words in (text.split() for text in said):
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        assert name in known, words
        assert {word for word in words if word.startswith("--")} <= known[name], words


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text().split()) < MOST_WORDS
