"""Harmful or random files: refused at once, with the places of the errors."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.core.policy import PolicyInvalid, parse
from controller.core.words import MANY
from controller.core.yaml_document.errors import MAX_ERRORS
from tests.unit.policy.texts import LAN, TEXTS, errors


def test_a_file_that_would_blow_up_is_refused_before_it_does() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    assert all("not allowed" in message for *_, message in errors(f"l0: &l0 [x]\n{levels}\n"))


@given(st.text())
@example("%")
@example("%YAML 3.0\n---\n")
@example("? ")
@example("'")
@example("a: 2024-13-45")
@example("a: 0x")
@example("\ufeff")
@example("\ud800")
@example("- !<> x")
@example("a: 1" + "0" * 5000)
def test_no_text_ends_otherwise_than_with_places(text: str) -> None:
    try:
        parse(text, "p.yaml")
    except PolicyInvalid as invalid:
        assert invalid.errors
        for error in invalid.errors:
            assert error.line >= 1 and error.column >= 1 and error.message


@settings(max_examples=300)
@given(st.data())
def test_no_edit_of_an_example_ends_otherwise(data: st.DataObject) -> None:
    """The edits are those of typing: parts are deleted, doubled, or replaced."""
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        piece = data.draw(st.sampled_from(PIECES) | st.just(text[start:end] * 2) | st.text(max_size=3))
        text = text[:start] + piece + text[end:]
    try:
        parse(text, "p.yaml")
    except PolicyInvalid as invalid:
        lines = text.count("\n") + text.count("\r") + 2
        assert all(0 < error.line <= lines and error.message for error in invalid.errors)


PIECES = [
    "",
    " ",
    "\t",
    "\n",
    "  ",
    ":",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "#",
    "&a",
    "*a",
    "!!set",
    "0",
    "-1",
    "~",
]


def test_the_parser_in_python_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python loader is used if libyaml is not installed."""
    fast = [parse(text, "p.yaml") for text in TEXTS]
    monkeypatch.setattr("controller.core.yaml_document.document._LOADER", yaml.SafeLoader)
    assert [parse(text, "p.yaml") for text in TEXTS] == fast
    for number in range(0xD7FF, 0xE001):
        with pytest.raises(PolicyInvalid):
            parse(f'a: "\\u{number:04x}"', "p.yaml")
    for policy, text in zip(fast, TEXTS, strict=True):
        assert parse(text, "p.yaml").document == policy.document


SUBNETS = [f"{n >> 8}.{n & 255}" for n in range(25_000)]


@pytest.mark.parametrize(
    "text",
    [
        f"apiVersion: weft/v1\nvcps: {{b: {{members: [{', '.join(f'{n}, a{n}' for n in range(40_000))}]}}}}",
        f"apiVersion: weft/v1\nvcps: {{{', '.join(f'a{n}: 1' for n in range(60_000))}}}",
        f"apiVersion: weft/v1\nvcps: {{}}\n{chr(10).join(f'a{n}:' for n in range(60_000))}",
        "apiVersion: weft/v1\nvcps: {b: {members: [" + "[], " * 99_000 + "]}}",
        "apiVersion: weft/v1\nvcps: {b: {members: [" + "[], " * 200_000 + "]}}",
        "a: " + "- " * 500_000,
        "a: " + "{a: " * 250_000,
        "? " * 500_000,
        "[" + "a," * 500_000,
        "&a " * 300_000,
        "a: *a\n" * 170_000,
        "'" + "a\n" * 500_000,
        f"{'a' * 1_000_000}: 1",
        f"? {'a' * 1_000_000}\n: {{b: 1, c: 2}}",
        f"apiVersion: weft/v1\nvcps: {{{', '.join(f'a{n}: 1' for n in range(300))}}}\naccess: {{b: 5}}\ntests: [{{}}]",
        f"{LAN}      exclusions: [{', '.join(f'10.{n}.2-10.{n}.5' for n in SUBNETS)}]\n"
        f"      reservations: {{{', '.join(f'd{i}: 10.{n}.4' for i, n in enumerate(SUBNETS))}}}\n",
        f"apiVersion: weft/v1\nvcps: {{{', '.join(f'a{n}: {{members: []}}' for n in range(15_000))}}}\n"
        f"access: {{{', '.join(f'b{n}: []' for n in range(15_000))}}}\n",
    ],
    ids=range(17),
)
def test_hostile_files_are_refused_with_few_words(text: str) -> None:
    with pytest.raises(PolicyInvalid) as raised:
        parse(text, "p.yaml")
    assert 0 < len(raised.value.errors) <= MAX_ERRORS
    assert all(len(str(error)) + len(error.field) < 3000 for error in raised.value.errors)


def test_a_file_of_too_many_values_is_not_read_to_its_end() -> None:
    assert [message for *_, message in errors("a: [" + "b, " * 200_000 + "]")] == ["more than 100000 values"]


def test_no_close_word_is_looked_for_among_very_many() -> None:
    def suggestions(count: int) -> set[str]:
        pools = ", ".join(f"blue-{n}: {{members: []}}" for n in range(count))
        text = f"apiVersion: weft/v1\nvcps: {{{pools}}}\naccess: {{blue-1x: []}}\n"
        with pytest.raises(PolicyInvalid) as raised:
            parse(text, "p.yaml")
        return {error.suggestion for error in raised.value.errors}

    assert suggestions(MANY) == {"blue-1"} and suggestions(MANY + 1) == {""}
