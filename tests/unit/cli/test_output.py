"""Cells, times and tables."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cli.cells import plain
from controller.cli.documents import emit
from controller.cli.output import milliseconds, relative, say, table

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s, max_size=3)))
def test_no_cell_moves_a_terminals_cursor(value: object) -> None:
    assert plain(value) and plain(value).isprintable()


def test_neither_sentences_nor_documents_move_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = "c1\x1b[31m\x9b31m\r\u202e\x07"
    say(f"{text}\nend")
    assert capsys.readouterr().out == "c1\\x1b[31m\\x9b31m\\r\\u202e\\x07\nend\n"
    emit({"name": text})
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable() and json.loads(shown) == {"name": text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        ([], "-"),
        ({}, "-"),
        (0, "0"),
        (False, "no"),
        (["a", "b"], "a, b"),
        ({"city": "Pisa"}, "city=Pisa"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("[bold]x", "[bold]x"),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s ago"), (-5, "5 s ago"), (119, "in 119 s"), (-7200, "2 h ago"), (200000, "in 2 d"), (3300, "in 55 min")],
)
def test_times(seconds: int, text: str) -> None:
    moment = NOW + timedelta(seconds=seconds)
    assert relative(moment.isoformat(), NOW) == text
    assert relative(moment.replace(tzinfo=None).isoformat(), NOW) == text
    assert relative(moment.timestamp(), NOW) == text


@pytest.mark.parametrize("value", ["soon", None, float("inf"), 10**30, ""])
def test_what_is_no_time_stays(value: object) -> None:
    assert relative(value) == plain(value)


def test_milliseconds() -> None:
    assert [milliseconds(v) for v in (0.418, 84.2, 1204, None)] == ["0.42 ms", "84 ms", "1,204 ms", "-"]


def test_markup_in_data_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    table(["A", "B"], [["[red]x[/red]", ":smile:"]])
    assert "[red]x[/red]" in capsys.readouterr().out


def test_what_is_piped_is_as_wide_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    members = [f"cloudlet-{n}-lan" for n in range(40)]
    table(["NAME", "MEMBERS", "NOTHING"], [["blue", members, None], ["red", [], None]])
    titles, blue, red = capsys.readouterr().out.splitlines()
    assert titles.split() == ["NAME", "MEMBERS", "NOTHING"]
    assert ", ".join(members) in blue and red.split() == ["red", "-", "-"]
