"""Access rules and address plans in a file: impossible ones, and rules that never match."""

import pytest

from controller.core.policy import PolicyInvalid, parse
from tests.unit.policy.texts import LAN, errors


@pytest.mark.parametrize(
    ("lan", "column", "words", "suggestion"),
    [
        ("reservations: {p: 10.1.0.11}", 25, "10.1.0.11 is odd, a VM's address", "10.1.0.10"),
        ("reservations: {p: 10.1.0.12, q: 10.1.0.12}", 39, "10.1.0.12 is reserved for p already", ""),
        ("reservations: {p: 10.1.0.300}", 25, "'10.1.0.300' is not an IPv4 address", ""),
        ("exclusions: [10.1.0.9-10.1.0.8]", 20, "the range ends before it begins", "10.1.0.8-10.1.0.9"),
        ("exclusions: [10.1.0.9-10.1.0.12]", 20, "is of whole pairs", "10.1.0.8-10.1.0.13"),
        ("exclusions: [10.1.0.4-10.1.0.9, 10.1.0.8-10.1.0.9]", 39, "overlaps 10.1.0.4-10.1.0.9", ""),
        ("exclusions: [10.1.0.8-10.1.0.12]", 20, "is of whole pairs", "10.1.0.8-10.1.0.13"),
        ("exclusions: [10.1.0.4]", 20, "'10.1.0.4' is not a range of addresses", ""),
    ],
)
def test_addresses_in_each_others_way(lan: str, column: int, words: str, suggestion: str) -> None:
    with pytest.raises(PolicyInvalid) as raised:
        parse(f"{LAN}      {lan}\n", "p.yaml")
    (error,) = raised.value.errors
    assert (error.line, error.column, error.suggestion) == (6, column, suggestion) and words in error.message


def test_exclusions_are_compared_with_all_of_those_before() -> None:
    text = f"{LAN}      exclusions: [10.1.0.4-10.1.0.99, 10.1.0.10-10.1.0.13, 10.1.0.20-10.1.0.21]\n"
    text += "      reservations: {p: 10.1.0.50}\n"
    assert [message for *_, message in errors(text)] == [
        "10.1.0.10-10.1.0.13 overlaps 10.1.0.4-10.1.0.99",
        "10.1.0.20-10.1.0.21 overlaps 10.1.0.4-10.1.0.99",
        "10.1.0.50 is reserved for p and excluded (10.1.0.4-10.1.0.99)",
    ]


def test_a_reservation_that_is_excluded() -> None:
    text = f"{LAN}      exclusions: [10.1.0.4-10.1.0.9]\n      reservations: {{p: 10.1.0.8}}\n"
    assert errors(text) == [
        (7, 25, "addresses.lans.c1-lan.reservations.p", "10.1.0.8 is reserved for p and excluded (10.1.0.4-10.1.0.9)")
    ]


RULES = "apiVersion: weft/v1\nvcps: {blue: {members: [a, c]}}\naccess:\n  blue:\n"


@pytest.mark.parametrize(
    ("rule", "column", "words"),
    [
        ("{name: x, action: dorp}", 25, "did you mean 'drop'?"),
        ("{name: x, action: drop, from: [q]}", 38, "'q' is not a member of VCP 'blue'; known are a, c"),
        ("{name: x, action: drop, from: []}", 37, "is empty: leave it out"),
        ("{name: x, action: drop, ports: [70-60]}", 39, "the range ends before it begins"),
        ("{name: x, action: drop, ports: [1-70000]}", 39, "70000 is not a port"),
        ("{name: x, action: drop, ports: [http]}", 39, "must be a port from 0 to 65535 or a range"),
        ("{name: x, action: drop, protocols: [icmp], ports: [1]}", 50, "icmp has no ports"),
        ("{name: x, action: drop, protocols: [tpc]}", 43, "must be tcp, udp, icmp"),
        ("{name: x, action: mark}", 25, "the action mark needs the key 'dscp'"),
        ("{name: x, action: drop, rate_kbps: 5}", 42, "with 'action: rate-limit' only"),
        (f"{{name: x, action: drop, ports: {list(range(65))}}}", 38, "has 65 items; 64 are allowed"),
        ("{action: drop}", 7, "lacks the key 'name'"),
    ],
)
def test_rules_that_cannot_be(rule: str, column: int, words: str) -> None:
    with pytest.raises(PolicyInvalid) as raised:
        parse(f"{RULES}    - {rule}\n", "p.yaml")
    (error,) = raised.value.errors
    assert (error.line, error.column) == (5, column) and words in error.message, error


@pytest.mark.parametrize(
    ("first", "second", "swallowed"),
    [
        ("{action: drop}", "{action: accept, ports: [80]}", True),
        ("{action: drop, from: [a]}", "{action: accept, from: [a], to: [c]}", True),
        ("{action: drop, from: [a]}", "{action: accept, to: [c]}", False),
        ("{action: drop, ports: [1-99, 100-200]}", "{action: accept, ports: [50-150]}", True),
        ("{action: drop, ports: [1-99, 101-200]}", "{action: accept, ports: [50-150]}", False),
        ("{action: drop, protocols: [tcp, udp]}", "{action: accept, ports: [80]}", True),
        ("{action: drop, protocols: [tcp]}", "{action: accept, ports: [80]}", False),
        ("{action: drop, protocols: [6]}", "{action: accept, protocols: [tcp]}", True),
        ("{action: accept}", "{action: drop, from: [a], to: [a]}", True),
    ],
)
def test_a_rule_that_never_matches_is_a_warning(first: str, second: str, swallowed: bool) -> None:
    text = f"{RULES}    - {first[:-1]}, name: one}}\n    - {second[:-1]}, name: two}}\n"
    found = parse(text, "p.yaml").warnings
    assert [(w.line, w.column, w.field) for w in found] == ([(6, 7, "access.blue[1]")] if swallowed else [])
    assert all("rule 'two' never matches" in w.message for w in found)


def test_very_many_rules_are_compared() -> None:
    ports = ", ".join(f"{n}-{n + 5}" for n in range(0, 500, 10))
    rules = "".join(
        f"    - {{name: r{n}, action: drop, protocols: [tcp], ports: [{ports}, {600 + n}]}}\n" for n in range(199)
    )
    found = parse(f"{RULES}{rules}    - {{name: last, action: drop, protocols: [tcp], ports: [3, 610]}}\n", "p.yaml")
    assert [w.message for w in found.warnings] == ["rule 'last' never matches: 'r10' above it takes it all"]
