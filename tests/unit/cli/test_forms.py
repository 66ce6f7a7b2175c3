"""The forms of output for programs, the choice of columns, and lists that are shown again and again."""

import csv
import io
import json
from typing import Any

import httpx
import pytest
import yaml

from controller.cli import noun
from tests.unit.cli.answers import CLOUDLET, LISTS
from tests.unit.cli.conftest import Controller, Weft
from tests.unit.cli.test_moves import MOVE

AT = "2020-01-01T00:00:00Z"
OTHER = CLOUDLET | {"name": "c2", "vtep": "198.51.100.2", "labels": {"city": "Città\x9b31m"}}


@pytest.fixture(autouse=True)
def cloudlets(controller: Controller) -> None:
    controller.answers["GET", "/api/v1/cloudlets"] = {"items": [CLOUDLET, OTHER], "next": None}
    controller.answers["GET", "/api/v1/cloudlets/c1"] = CLOUDLET


def test_yaml_has_what_json_has_and_moves_no_cursor(weft: Weft) -> None:
    for verb in (["list"], ["show", "c1"]):
        said = weft("cloudlet", *verb, "-o", "yaml").out
        assert yaml.safe_load(said) == weft("cloudlet", *verb, "-o", "json").json
        assert said.replace("\n", "").isprintable()


def test_csv_has_the_tables_columns_and_times_as_they_are(weft: Weft) -> None:
    first, second = csv.DictReader(io.StringIO(weft("cloudlet", "list", "-o", "csv").out))
    assert (first["NAME"], first["SEEN"], second["VTEP"]) == ("c1", AT, "198.51.100.2")
    [one] = csv.DictReader(io.StringIO(weft("cloudlet", "show", "c1", "-o", "csv").out))
    assert one["LABELS"] == "city=Pisa" and one["LATITUDE"] == ""


@pytest.mark.parametrize(("line", "noun", "item"), [(a[0], a[1], a[3]) for a in LISTS], ids=[a[0] for a in LISTS])
def test_each_list_is_one_table(weft: Weft, controller: Controller, line: str, noun: str, item: dict[str, Any]) -> None:
    controller.answers["GET", f"/api/v1/{noun}"] = {"items": [item], "next": None}
    titles, *others = csv.reader(io.StringIO(weft(*line.split(), "-o", "csv").out))
    assert [len(cells) for cells in others] == [len(titles)]


def test_no_sentence_follows_csv(weft: Weft, controller: Controller) -> None:
    controller.answers["GET", "/api/v1/moves/move-1"] = MOVE
    [one] = csv.DictReader(io.StringIO(weft("move", "show", "move-1", "-o", "csv").out))
    assert one["NAME"] == "move-1"
    page: dict[str, Any] = {"items": [], "next": None, "truncated": True, "unreachable": []}
    controller.answers["GET", "/api/v1/routes"] = page
    said = weft("route", "list", "-o", "csv")
    assert len(said.out.splitlines()) == 1 and "--limit is 1000" in said.err


def test_name_is_the_first_column(weft: Weft) -> None:
    assert weft("cloudlet", "list", "-o", "name").out == "c1\nc2\n"
    assert weft("cloudlet", "show", "c1", "--output", "name").out == "c1\n"
    assert weft("cloudlet", "list", "-o", "name", "--columns", "vtep").out == "198.51.100.1\n198.51.100.2\n"


def test_an_empty_list_is_empty_for_programs(weft: Weft, controller: Controller) -> None:
    controller.answers["GET", "/api/v1/cloudlets"] = {"items": [], "next": None}
    said = {form: weft("cloudlet", "list", "-o", form).out for form in ("table", "json", "yaml", "csv", "name")}
    assert "no cloudlets yet" in said.pop("table")
    assert said.pop("csv").startswith("NAME,PE,") and said.pop("name") == ""
    assert (json.loads(said["json"]), yaml.safe_load(said["yaml"])) == ([], [])


def test_columns_are_chosen_and_ordered(weft: Weft) -> None:
    titles, first, _ = weft("cloudlet", "list", "--columns", "vtep, Name").out.splitlines()
    assert (titles.split(), first.split()) == (["VTEP", "NAME"], ["198.51.100.1", "c1"])
    assert weft("cloudlet", "show", "c1", "--columns", "state").out.split() == ["state", "active"]
    wrong = weft("cloudlet", "list", "--columns", "name,colour")
    assert wrong.code == 2 and "--columns 'colour': there are NAME, PE, STATE" in wrong.err


def test_a_list_is_shown_again_until_it_cannot_be(
    weft: Weft, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noun, "EVERY", 0.0)
    answers = iter([[CLOUDLET], [CLOUDLET, OTHER]])

    def answer(_: httpx.Request) -> httpx.Response:
        found = next(answers, None)
        return httpx.Response(500) if found is None else httpx.Response(200, json={"items": found, "next": None})

    controller.answers["GET", "/api/v1/cloudlets"] = answer
    result = weft("cloudlet", "list", "--watch", "-o", "name")
    assert result.out == "c1\nc1\nc2\n" and result.code == 4


def test_the_version_is_that_of_the_distribution(weft: Weft) -> None:
    assert weft("--version").out.startswith("weft ")
