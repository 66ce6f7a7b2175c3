"""If there are too many findings for a report, each kind and LAN has its share."""

from collections import Counter

from agents.controller.findings import told
from controller.wire.findings import Finding, FindingKind


def found(kind: FindingKind, count: int, endpoint: str | None = None) -> list[Finding]:
    return [
        Finding(kind=kind, subject=str(n), expected="one", found="two", text=f"{n} is two", endpoint=endpoint)
        for n in range(count)
    ]


def test_as_many_as_fit_are_told_as_they_are() -> None:
    all_of_them = [*found("mac-duplicate", 900, "lan1"), *found("setting", 100)]
    assert told(all_of_them) == all_of_them


def test_a_loud_lan_pushes_out_nobody_elses() -> None:
    quiet = [*found("mac-duplicate", 10, "lan2"), *found("cloned-client", 5, "lan1"), *found("guest-silent", 300)]
    said = told([*found("mac-duplicate", 5000, "lan1"), *quiet])
    assert len(said) == 1000
    assert all(finding in said for finding in quiet)
    assert Counter(finding.kind for finding in said)["mac-duplicate"] == 999 - 305
    assert said[-1].kind == "findings-untold"


def test_one_more_is_no_news() -> None:
    assert told(found("setting", 2000)) == told(found("setting", 2001))
