"""A policy is read as it is written, and every error in it is reported at its place."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from controller.core.policy import PolicyInvalid, parse
from controller.core.policy.parse import FORM
from controller.core.yaml_document.document import DEFAULT
from controller.wire.flavours import Flavour
from tests.unit.policy.texts import EXAMPLES, POLICIES, TEXTS, errors

NAMES_300 = f"[{', '.join(f'c{n}' for n in range(300))}]"


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
        ('apiVersion: weft/v1\nvcps: {blue: {members: ["a\\n"]}}', 2, 25, "is not a name"),
        ("apiVersion: weft/v1\nvcps: {b: {members: [], memers: []}}", 2, 25, "did you mean 'members'?"),
        ("apiVersion: weft/v1\nvcps: {b: {members: []}, b: {members: []}}", 2, 26, "a second time"),
        ("apiVersion: weft/v1\nvcps: {? [a] : 1}", 2, 10, "plain word"),
        ("a: 1\nb: [1,\n", 3, 1, "not YAML"),
        ("a: b: c", 1, 5, "not YAML"),
        ("a: \x00", 1, 4, "not YAML"),
        ('a: "\\0"', 1, 4, "the character '\\x00' is not allowed, nor its escape"),
        ('a: "b\\x85"', 1, 4, "is not allowed, nor its escape"),
        ("a: &x [1]\n", 1, 4, "the anchor '&x' is not allowed"),
        ("a: 1\nb: *x\n", 2, 4, "the alias '*x' is not allowed"),
        ("a: !!python/name:os.system x\n", 1, 4, "is not allowed"),
        ("---\na: 1\n---\nb: 1\n", 3, 1, "a second document"),
        ("a: " + "[" * 5000, 1, 19, "nested deeper"),
        ("#" * (DEFAULT.characters + 1), 1, 1, "longer than"),
        (f"apiVersion: weft/v1\nvcps: {{b: {{members: [], description: {'x' * 201}}}}}", 2, 38, "201 characters long"),
    ],
)
def test_what_is_refused_and_where(text: str, line: int, column: int, words: str) -> None:
    found = errors(text)
    assert found[0][:2] == (line, column), found
    assert words in found[0][3]


@pytest.mark.parametrize(
    ("text", "line", "column", "words", "suggestion"),
    [
        ("vcps:\n  blue:\n  members: [a]\n", 4, 3, "'members' belongs below vcps.NAME; is it indented wrongly?", ""),
        ("vcps:\n  blue:\n\tmembers: [a]\n", 4, 1, "a tab: indent with spaces only", ""),
        ("vcps:\n  a: {members: []}\n   b: {}\n", 4, 4, "the indent fits no line above", ""),
        ("vcps:\n  a: blue\n   b: {}\n", 4, 5, "is the line indented too far", ""),
        (
            "vcps:\n  a:\n    members:\n    - x\n   - y\n",
            6,
            4,
            "the indent fits no line above: keys of the mapping of",
            "",
        ),
        ("vcps:\n  - name: blue\n", 3, 3, "must be a mapping, not a list: write its keys without '- '", ""),
        ("vcps:\n  b:\n    members: a\n", 4, 14, "must be a list, not 'a'; write it in brackets: [a]", ""),
        ("vcps:\n  b:\n    members:\n", 4, 5, "if it is empty, write []; if not, what follows is", ""),
        ("vcps: {b: {description: it's: so}}\n", 2, 29, "the '}' for line 2 or a comma is missing here", ""),
        ("vcps:\n  b: members: [a]\n", 3, 13, "not YAML: a second ': ' on one line", ""),
        ('vcps: {b: {description: "so}}\n', 2, 25, "the quote that opens here is not closed", ""),
        ("vcps\n  b: {}\n", 2, 1, "a key without ': ' after it", ""),
        ("vcps: {b: [}}\n", 2, 12, "a value is missing before '}'", ""),
        ("vcps: {}}\n", 2, 9, "one '}' more than was opened", ""),
        ("vcps: @b\n", 2, 7, "nothing can begin with '@': write the value in quotes", ""),
        ("vcps: - b\n", 2, 7, "a list cannot begin on the line of its key", ""),
        ("vcps: {}\nneighbors: {}\n", 3, 1, "unknown key 'neighbors': did you mean 'neighbours'?", "neighbours"),
        ("vcps: {}\nmembers: []\n", 3, 1, "it belongs below vcps.NAME; is it indented wrongly?", ""),
        ("vcps: {}\nneighbours: {rtt: 9}\n", 3, 14, "did you mean 'rtt_ms'?", "rtt_ms"),
        ("vcps: {}\nneighbours: {rtt_ms: 9ms}\n", 3, 22, "must be a number, not '9ms'", ""),
        ("vcps: {}\nneighbours: {rtt_ms: .inf}\n", 3, 22, "must be a number, not '.inf'", ""),
        ("vcps: {}\nneighbours: {max_loss: 20}\n", 3, 24, "must be at least 0 and at most 1, not 20", ""),
        ("vcps: {}\nneighbours: {rtt_ms: 200}\n", 3, 22, "keep_rtt_ms (180, the default) is below rtt_ms (200)", ""),
        ("vcps: {}\nmigration: {max_rtt_ms: 9}\n", 3, 25, "max_rtt_ms (9) is below rtt_ms (150, the default)", ""),
        (
            "vcps: {}\nmigration: {cpu: basline}\n",
            3,
            18,
            "'basline' is not a CPU model: did you mean 'base",
            "baseline",
        ),
        ("vcps: {}\nmigration: {cpu: 'EPYC,+avx'}\n", 3, 18, "migration.cpu must be baseline, host, max, or a CPU", ""),
        (
            "vcps: {}\nmigration: {cpu: 486}\n",
            3,
            18,
            "such as EPYC-Rome or EPYC-Rome,-rdpid, not 486; write it in quotes: '486'",
            "",
        ),
        ("vcps: {}\nproximity: {rto_seconds: 9, address_seconds: 9}\n", 3, 46, "no time is left to walk", ""),
        ("vcps: {f: {automatic: yes}}\n", 2, 23, "must be proximity, not 'yes'", ""),
        ("vcps: {f: {automatic: proximity, members: [a]}}\n", 2, 34, "proximity decides who is in f", ""),
        ("vcps: {f: {select: {}, max_rtt_ms: 5}}\n", 2, 36, "with 'automatic: proximity' only", ""),
        ("vcps: {f: {automatic: proximity}, f-2: {members: []}}\n", 2, 35, "a pool of the family 'f'", ""),
        ("vcps: {b: {select: {floor: 3}}}\n", 2, 28, "write it in quotes: '3'", ""),
        ("vcps: {b: {select: {floor: []}}}\n", 2, 28, "is empty: leave it out", ""),
        ("vcps: {b: {}}\n", 2, 8, "for a pool without members write 'members: []'", ""),
        ("vcps: {blue: {members: []}}\naccess: {bleu: []}\n", 3, 10, "has no VCP 'bleu': did you mean 'blue'?", "blue"),
        ("vcps: {b: {members: []}}\ntenants: {t: {vcps: [x]}}\n", 3, 22, "has no VCP 'x'; known are b", ""),
        ("vcps: {}\ntests: [{}]\n", 3, 9, "must have exactly one of reachable, isolated", ""),
        ("vcps: {}\ntests: [{isolated: {from: a, to: b, port: 1}}]\n", 3, 43, "a port needs 'protocol: tcp'", ""),
        ("vcps: {}\ntests: [{isolated: {from: a, to: a}}]\n", 3, 34, "'a' is where it comes from", ""),
        ("vcps: {}\ntests: [{address: {lan: a, device: d, md: 10.0.0.2}}]\n", 3, 36, "nothing is reserved for 'd'", ""),
        ("vcps: {}\ntests: [{address: {lan: a, vm: 10.0.0.3}}]\n", 3, 10, "needs 'device' or 'md'", ""),
        ("vcps: {}\ntests: [{address: {lan: a, md: 10.0.0.2, vm6: ':::'}}]\n", 3, 47, "is not an IPv6 address", ""),
        ("vcps: {}\ntests: [{neighbour: {is: near}}]\n", 3, 10, "needs rtt_ms, distance_m, two places", ""),
        (
            f"vcps: {{}}\ntests: [{{isolated: {{from: {NAMES_300}, to: {NAMES_300}}}}}]\n",
            3,
            1,
            "look at 90000 pairs of endpoints",
            "",
        ),
        (
            "vcps: {}\ntests: [{move: {rtt_ms: 9, migration_seconds: 9, profile: {memory_mb: 9}, is: move}}]\n",
            3,
            47,
            "the profile's to say: give one of the two",
            "",
        ),
        ("vcps: {}\ntests: [{move: {profile: {memory_mb: 9}, is: move}}]\n", 3, 17, "a profile needs rtt_ms", ""),
        ("vcps: {}\ntests: [{move: {rtt_ms: 9, profile: {}, is: move}}]\n", 3, 28, "lacks the key 'memory_mb'", ""),
        (
            "vcps: {}\ntests: [{move: {rtt_ms: 9, profile: {memory_mb: 9, bandwidth_mpbs: 9}, is: move}}]\n",
            3,
            52,
            "did you mean 'bandwidth_mbps'?",
            "bandwidth_mbps",
        ),
        ("vcps: {}\ntests: [{move: {is: flee}}]\n", 3, 21, "must be move or synthesise or stay, not 'flee'", ""),
    ],
)
def test_what_an_operator_does_wrong(text: str, line: int, column: int, words: str, suggestion: str) -> None:
    with pytest.raises(PolicyInvalid) as raised:
        parse("apiVersion: weft/v1\n" + text, "p.yaml")
    found = raised.value.errors
    assert any((e.line, e.column, e.suggestion) == (line, column, suggestion) and words in e.message for e in found), (
        found
    )


def test_whole_numbers_may_be_written_with_a_point() -> None:
    lease = parse(
        "apiVersion: weft/v1\nvcps: {}\naddresses: {lease_seconds: 60.0}\n", "p"
    ).rules.addresses.lease_seconds
    assert lease == 60 and isinstance(lease, int)


def test_sections_that_are_right_in_form_are_looked_at_while_others_are_not() -> None:
    text = (
        "apiVersion: weft/v1\n"
        "neighbours: {rtt_ms: fast}\n"
        "migration: {max_rtt_ms: 9}\n"
        "vcps: {blue: {members: []}, f: {automatic: proximity, members: []}}\n"
        "access: {bleu: []}\n"
        "addresses: {lans: 5}\n"
        "tests: [{address: {lan: a, device: d, md: 10.0.0.2}}]\n"
    )
    assert [(line, field) for line, _, field, _ in errors(text)] == [
        (2, "neighbours.rtt_ms"),
        (3, "migration.max_rtt_ms"),
        (4, "vcps.f.members"),
        (5, "access.bleu"),
        (6, "addresses.lans"),
    ]


def test_a_misspelt_key_is_not_a_missing_one_as_well() -> None:
    assert [message for *_, message in errors("apiVersions: weft/v1\nvcps: {b: {member: []}}\n")] == [
        "unknown key 'apiVersions': did you mean 'apiVersion'?",
        "unknown key 'member': did you mean 'members'?",
    ]
    assert [m for *_, m in errors("apiVersion: weft/v1\nvcps: {}\ntests: [{isolated: {form: a, to: b}}]\n")] == [
        "unknown key 'form': did you mean 'from'?"
    ]


def keys(part: object) -> set[str]:
    """Return all keys of the schema, at any level."""
    if isinstance(part, list):
        return set().union(*map(keys, part))
    if not isinstance(part, dict):
        return set()
    return set(part.get("properties", {})).union(*map(keys, part.values()))


SCHEMA = json.loads((POLICIES / "schema.json").read_text())
WORDS = [
    "a",
    "b-1",
    "any",
    "tcp",
    "10.0.0.2",
    "10.0.0.2-10.0.0.5",
    "1-9",
    "drop",
    "near",
    "move",
    "proximity",
    "weft/v1",
]
words = st.sampled_from(sorted(keys(SCHEMA))) | st.sampled_from(WORDS)
plain = st.none() | st.booleans() | st.integers(-1, 300) | st.floats(-1, 1e6) | words | st.text(max_size=3)
yaml_values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=8
)


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), yaml_values), st.data())
def test_it_agrees_with_the_schema(sections: dict[str, object], data: st.DataObject) -> None:
    """JSON is YAML: a document that violates the schema has errors, and any other has none. The test changes parts of
    an example, and parser and schema agree on the result."""
    example: Any = parse(data.draw(st.sampled_from(TEXTS)), "p.yaml").document.data
    for changed in (sections, example | sections, _elsewhere(example, data)):
        try:
            document = FORM.read(json.dumps(changed, ensure_ascii=False), "p.yaml")
        except PolicyInvalid as invalid:
            assert all("not YAML" in e.message or "nor its escape" in e.message for e in invalid.errors)
            continue
        right = Draft202012Validator(SCHEMA).is_valid(document.data)
        assert (FORM.violations(document, "p.yaml") == []) == right


def _elsewhere(data: Any, draw: st.DataObject) -> Any:
    """Return the data with one part, at any depth, replaced."""
    if not isinstance(data, dict | list) or not data or draw.draw(st.integers(0, 3)) == 0:
        return draw.draw(yaml_values)
    place: Any = draw.draw(st.sampled_from(sorted(data) if isinstance(data, dict) else range(len(data))))
    changed: Any = data.copy()
    changed[place] = _elsewhere(data[place], draw)
    return changed
