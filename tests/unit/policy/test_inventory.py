"""Errors and warnings of a policy once the region is known."""

import pytest

from controller.core import policies
from controller.core.policy import PolicyInvalid, parse
from controller.core.policy.strangers import SUGGESTIONS
from controller.core.yaml_document.errors import MAX_ERRORS
from tests.unit.policy.turin import turin

HEAD = "apiVersion: weft/v1\nvcps: {}\n"


@pytest.mark.parametrize(
    ("lan", "at", "words"),
    [
        ("reservations: {till: 10.2.0.20}", "10.2.0.20", "10.2.0.20 is not in 10.1.0.0/24, the LAN of c1-lan"),
        ("reservations: {till: 10.1.0.0}", "10.1.0.0", "10.1.0.0 is the network address"),
        ("reservations: {till: 10.1.0.254}", "10.1.0.254", "10.1.0.254 is the reserved address"),
        ("exclusions: [10.1.0.100-10.1.1.1]", "10.1.0.100", "10.1.1.1 is not in 10.1.0.0/24, the LAN of c1-lan"),
        ("exclusions: [10.0.0.2-10.3.0.1]", "10.0.0.2", "10.0.0.2 is not in 10.1.0.0/24, the LAN of c1-lan"),
    ],
)
def test_addresses_outside_of_their_lan_are_errors(lan: str, at: str, words: str) -> None:
    line = f"addresses: {{lans: {{c1-lan: {{{lan}}}}}}}"
    with pytest.raises(PolicyInvalid) as raised:
        policies.apply(turin(), parse(f"{HEAD}{line}\n", "p.yaml"), {})
    (error,) = raised.value.errors
    assert words in error.message and (error.line, error.column) == (3, line.index(at) + 1), error


def test_names_that_the_region_does_not_have_are_warnings() -> None:
    text = (
        "apiVersion: weft/v1\n"
        "vcps: {all: {select: {}}}\n"
        "addresses: {lans: {c1-lam: {}, c2-lan: {}}}\n"
        "proximity: {sites: {c11: {}, c2: {}}}\n"
        "access: {all: [{name: r, action: drop, from: [c1-lan, c2-lab], to: [nobody]}]}\n"
        "tenants: {t: {cloudlets: [c1, c22]}, city: {}, university: {}}\n"
    )
    policy = parse(text, "p.yaml")
    found = policies.apply(turin(), policy, {}).warnings
    assert [(str(w).removeprefix("p.yaml:"), w.suggestion) for w in found] == [
        ("3:20: there is no endpoint 'c1-lam': did you mean 'c1-lan'?", "c1-lan"),
        ("4:21: there is no cloudlet 'c11': did you mean 'c1'?", "c1"),
        ("5:55: there is no endpoint 'c2-lab': did you mean 'c2-lan'?", "c2-lan"),
        ("5:69: there is no endpoint 'nobody'; known are c1-lan, c2-lan, c3-lan, c4-lan, c5-lan, c6-lan, c7-lan", ""),
        ("6:31: there is no cloudlet 'c22': did you mean 'c2'?", "c2"),
    ]
    with pytest.raises(PolicyInvalid) as raised:
        policies.apply(turin(), policy, {}, strict=True)
    assert raised.value.errors == found


def test_very_many_of_them_are_not_all_told() -> None:
    sites = ", ".join(f"x{n}: {{}}" for n in range(1000))
    policy = parse(f"{HEAD}proximity: {{sites: {{{sites}}}}}\n", "p.yaml")
    found = policies.apply(turin(), policy, {}).warnings
    assert len(found) == MAX_ERRORS
    assert sum("; known are c1, c2" in warning.message for warning in found) == SUGGESTIONS
