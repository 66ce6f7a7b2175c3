"""References as Markdown: every option is there, and no text is taken for markup."""

import re

import pytest
from pydantic import BaseModel, ConfigDict, Field

from controller.cli.variables import VARIABLES
from deploy.reference.command_page import Command, CommandPage, Option
from deploy.reference.glossary import terms
from deploy.reference.markdown import fenced, markdown, table, text
from deploy.reference.settings_tables import settings_table
from tests.house.imports import ROOT

URL, SLOW = Option("--url URL", "the controller"), Option("--slow <a|b>", "as WEFT_URL *is*")


def page(*options: tuple[Option, ...]) -> CommandPage:
    commands = tuple(Command(f"x do{number}", "Do.", "NAME", each, ("x do it",)) for number, each in enumerate(options))
    return CommandPage("x", "does", commands, (("DESCRIPTION", "It does."), ("FILES", "  a  one\n  b  two")))


def test_an_option_of_nearly_all_commands_stands_once() -> None:
    said = markdown(page(*[(URL,)] * 4, (SLOW,)))
    assert said.count("| `--url URL` | the controller |") == 1
    assert said.count("It does not take `--url URL`.") == 1
    assert markdown(page((URL,), (SLOW,))).count("It does not take") == 0


def test_a_program_of_one_command_has_no_headings_of_commands() -> None:
    said = markdown(page((URL, SLOW)))
    assert "###" not in said and "| `--url URL` | the controller |" in said


def test_texts_are_no_markup() -> None:
    said = markdown(page((SLOW,)))
    assert r"| `--slow <a\|b>` | as `WEFT_URL` \*is\* |" in said
    assert text("a <b> `c <d>` WEFT_X") == r"a \<b\> `c <d>` `WEFT_X`"
    assert "**Files**\n\n```\n  a  one\n  b  two\n```" in said and "It does." in said
    assert fenced("x") == "```\nx\n```" and table(("a", "b"), [("1", "2|3")]).endswith("| 1 | 2\\|3 |")


class Described(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    most: int | None = Field(default=None, ge=0, json_schema_extra={"unit": "bytes"})
    """The most
    of all."""

    names: list[str] = ["a", "b"]
    """Names."""

    quick: bool
    """Whether it is quick."""


class Silent(BaseModel):
    mute: int = 1


def test_a_setting_has_type_unit_default_and_meaning() -> None:
    *_, most, names, quick = settings_table(Described, "X_").splitlines()
    assert most == "| `X_MOST` | integer ≥ 0 | bytes |  | The most of all. |"
    assert names == "| `X_NAMES` | list of text |  | `a`, `b` | Names. |"
    assert quick == "| `X_QUICK` | true or false |  | required | Whether it is quick. |"


def test_a_setting_without_a_description_is_an_error() -> None:
    with pytest.raises(ValueError, match="Silent: mute has no description"):
        settings_table(Silent)


def test_every_variable_of_weft_is_described() -> None:
    code = "".join(path.read_text() for path in (ROOT / "controller/cli").glob("*.py"))
    named = set(re.findall(r"\b(?:WEFT_(?!_)[A-Z_]+|NO_COLOR)\b", code))
    assert named == VARIABLES.keys()


def test_a_package_without_a_glossary_is_an_error() -> None:
    import deploy

    with pytest.raises(ValueError, match="deploy has no glossary"):
        terms(deploy)
