"""A policy is read as it is written, and every error in it is found at its place."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from controller.core.policy import PolicyInvalid, parse
from controller.core.policy.document import MAX_CHARACTERS
from controller.wire.flavours import Flavour

POLICIES = Path(__file__).parents[3] / "policies"
EXAMPLES = sorted((POLICIES / "examples").glob("*.yaml"))


def errors(text: str) -> list[tuple[int, int, str, str]]:
    with pytest.raises(PolicyInvalid) as raised:
        parse(text, "p.yaml")
    assert all(error.file == "p.yaml" for error in raised.value.errors)
    return [(error.line, error.column, error.field, error.message) for error in raised.value.errors]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_right(path: Path) -> None:
    assert parse(path.read_text(), path.name).vcps


def test_there_are_examples_and_the_schema_is_one() -> None:
    assert EXAMPLES
    Draft202012Validator.check_schema(json.loads((POLICIES / "schema.json").read_text()))


def test_what_is_read() -> None:
    policy = parse(
        "apiVersion: weft/v1\n"
        "vcps:\n"
        "  red: {members: [b, a]}\n"
        "  blue: {flavour: evpn, description: 'the: fair', members: []}\n",
        "p.yaml",
    )
    blue, red = policy.vcps
    assert (blue.name, blue.flavour, blue.description, blue.members) == ("blue", Flavour.EVPN, "the: fair", ())
    assert (red.name, red.flavour, red.description, red.members) == ("red", Flavour.VPLS, "", ("b", "a"))


def test_all_errors_are_reported_in_the_order_of_the_file() -> None:
    text = (
        "apiVersion: weft/v2\n"
        "pools: {}\n"
        "vcps:\n"
        "  blue:\n"
        "    flavor: evpn\n"
        "    members: [a, a, 10, A_b, ]\n"
        "  Green_:\n"
        "    members: x\n"
        "  red:\n"
        "    flavour: evpm\n"
        "    description: [no]\n"
    )
    assert [(line, column, field) for line, column, field, _ in errors(text)] == [
        (1, 13, "apiVersion"),
        (2, 1, "pools"),
        (5, 5, "vcps.blue.flavor"),
        (6, 18, "vcps.blue.members[1]"),
        (6, 21, "vcps.blue.members[2]"),
        (6, 25, "vcps.blue.members[3]"),
        (7, 3, "vcps.Green_"),
        (8, 14, "vcps.Green_.members"),
        (9, 3, "vcps.red.members"),
        (10, 14, "vcps.red.flavour"),
        (11, 18, "vcps.red.description"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "empty"),
        ("# only a comment\n", 1, 1, "empty"),
        ("null", 1, 1, "must be a mapping, not nothing"),
        ("[1, 2]", 1, 1, "must be a mapping, not a list"),
        ("apiVersion: weft/v1", 1, 1, "lacks the key 'vcps'"),
        ("vcps: {}", 1, 1, "lacks the key 'apiVersion'"),
        ("apiVersion: weft/v1\nvcps:\n", 2, 1, "vcps must be a mapping, not nothing"),
        ("apiVersion: weft/v1\nvcps: {blue: }\n", 2, 8, "vcps.blue must be a mapping, not nothing"),
        ("apiVersion: weft/v1\nvcps: {blue: {members: [1.5]}}", 2, 25, "write it in quotes: '1.5'"),
        ("apiVersion: weft/v1\nvcps: {blue: {members: [true]}}", 2, 25, "must be text, not true"),
        ("apiVersion: weft/v1\nvcps: {blue: {members: [[a]]}}", 2, 25, "must be text, not a list"),
        ('apiVersion: weft/v1\nvcps: {blue: {members: ["a\\n"]}}', 2, 25, "is no name"),
        ("apiVersion: weft/v1\nvcps: {b: {members: [], memers: []}}", 2, 25, "did you mean 'members'?"),
        ("apiVersion: weft/v1\nvcps: {b: {members: []}, b: {members: []}}", 2, 26, "a second time"),
        ("apiVersion: weft/v1\nvcps: {? [a] : 1}", 2, 10, "plain word"),
        ("a: 1\nb: [1,\n", 3, 1, "not YAML"),
        ("a: b: c", 1, 5, "not YAML"),
        ("a: \x00", 1, 4, "not YAML"),
        ("a: &x [1]\n", 1, 4, "the anchor '&x' is not allowed"),
        ("a: 1\nb: *x\n", 2, 4, "the alias '*x' is not allowed"),
        ("a: !!python/name:os.system x\n", 1, 4, "is not allowed"),
        ("---\na: 1\n---\nb: 1\n", 3, 1, "a second document"),
        ("a: " + "[" * 5000, 1, 19, "nested deeper"),
        ("#" * (MAX_CHARACTERS + 1), 1, 1, "longer than"),
        (f"apiVersion: weft/v1\nvcps: {{b: {{members: [], description: {'x' * 201}}}}}", 2, 38, "201 characters long"),
    ],
)
def test_what_is_refused_and_where(text: str, line: int, column: int, words: str) -> None:
    found = errors(text)
    assert found[0][:2] == (line, column), found
    assert words in found[0][3]


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


yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["members", "flavour", "b"]), inner),
    max_leaves=8,
)


@given(st.fixed_dictionaries({"apiVersion": st.just("weft/v1") | yaml_values, "vcps": yaml_values}))
def test_it_agrees_with_the_schema(data: dict[str, object]) -> None:
    """JSON is YAML: what the schema calls right is read, and nothing else is."""
    right = Draft202012Validator(json.loads((POLICIES / "schema.json").read_text())).is_valid(data)
    try:
        parse(json.dumps(data), "p.yaml")
    except PolicyInvalid:
        assert not right
    else:
        assert right
