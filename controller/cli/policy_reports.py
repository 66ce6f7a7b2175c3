"""Reports of checked and tested policies for continuous integration: JUnit's XML, and SARIF 2.1.0 (OASIS)."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from controller.cli.cells import plain
from controller.cli.failures import WrongUsage
from controller.wire.release import release

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A check of a file, or a test in it. `outcome` is passed, failed, wrong or skipped. `errors` and `warnings` have
    their places, `note` is a remark for users."""

    file: str
    name: str
    outcome: str
    errors: Sequence[Json] = ()
    warnings: Sequence[Json] = ()
    note: str = ""


def write(path: Path, cases: Sequence[Case]) -> None:
    """Write a report in the form that the file's name asks for. Raises OSError."""
    path.write_text(FORMS[path.suffix](cases), encoding="utf-8")


def check_name(path: Path | None) -> None:
    """Raise WrongUsage if the name of a report does not tell its form."""
    if path is not None and path.suffix not in FORMS:
        raise WrongUsage(f"--report {path}: the name of a report ends in .xml (JUnit) or .sarif (SARIF)")


def junit(cases: Iterable[Case]) -> str:
    """Return JUnit's XML: a suite for each file, a test case for its check or for each of its tests."""
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.file, []).append(case)
    root = ElementTree.Element("testsuites", name="weft policy")
    for file, of in suites.items():
        counts = {kind: sum(case.outcome == kind for case in of) for kind in ("failed", "wrong", "skipped")}
        numbers = {"failures": counts["failed"], "errors": counts["wrong"], "skipped": counts["skipped"]}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": plain(file), "tests": str(len(of)), **_texts(numbers)}
        )
        for case in of:
            suite.append(_case(case))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def sarif(cases: Iterable[Case]) -> str:
    """Return SARIF 2.1.0: a result for each error and warning, at its place in the file."""
    results = [_result(level, one, case.name) for case in cases for level, of in _levels(case).items() for one in of]
    driver = {
        "name": "weft",
        "version": release(),
        "rules": [{"id": name} for name in sorted({r["ruleId"] for r in results})],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
    return json.dumps(document, indent=1) + "\n"


FORMS: Mapping[str, Callable[[Sequence[Case]], str]] = {".xml": junit, ".sarif": sarif}
"""The forms of reports, by the ends of their names."""

_ELEMENTS = {"failed": "failure", "wrong": "error", "skipped": "skipped"}


def _case(case: Case) -> ElementTree.Element:
    made = ElementTree.Element("testcase", classname=plain(case.file), name=plain(case.name), file=plain(case.file))
    if case.errors:
        made.set("line", str(case.errors[0]["line"]))
    lines = [_line(error) for error in case.errors]
    if kind := _ELEMENTS.get(case.outcome):
        first = plain(case.errors[0]["message"]) if case.errors else plain(case.note)
        ElementTree.SubElement(made, kind, message=first).text = "\n".join(lines)
    said = [*(f"warning: {_line(warning)}" for warning in case.warnings), *([plain(case.note)] if case.note else [])]
    if said:
        ElementTree.SubElement(made, "system-out").text = "\n".join(said)
    return made


def _levels(case: Case) -> dict[str, Sequence[Json]]:
    refused = case.outcome in ("failed", "wrong")
    return {"error": case.errors if refused else (), "warning": case.warnings}


def _result(level: str, error: Json, name: str) -> Json:
    region = {"startLine": max(1, int(error["line"])), "startColumn": max(1, int(error["column"]))}
    place = {"artifactLocation": {"uri": str(error["file"])}, "region": region}
    return {
        "ruleId": f"policy/{name}" if name == CHECK else "policy/test",
        "level": level,
        "message": {"text": plain(error["message"])},
        "locations": [{"physicalLocation": place}],
    }


CHECK = "check"
"""The name of the case that is the check of a file."""


def _line(error: Json) -> str:
    return f"{plain(error['file'])}:{error['line']}:{error['column']}: {plain(error['message'])}"


def _texts(numbers: Mapping[str, int]) -> dict[str, str]:
    return {name: str(number) for name, number in numbers.items()}
