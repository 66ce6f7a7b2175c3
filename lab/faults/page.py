"""The cases as a page and as JSON: what happened in each, where it landed, and how long the move took."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from lab.faults.trial import Found
from lab.paths import ROOT

MARK = "<!-- cases -->"


def keep(found: Sequence[Found], output: Path) -> list[Found]:
    """Writes JSON: those of earlier runs stay, unless the case was run again. Returns all."""
    known: dict[str, Found] = {}
    if output.exists():
        known = {one["case"]: Found(**one) for one in json.loads(output.read_text())}
    known |= {one.case: replace(one, reason=one.reason.replace(f"{ROOT}/", "")) for one in found}
    output.write_text(json.dumps([asdict(one) for one in known.values()], indent=1) + "\n")
    return list(known.values())


def write(found: Sequence[Found], page: Path) -> None:
    """Replaces the page's table, which is all that follows its mark."""
    head = page.read_text().partition(MARK)[0]
    page.write_text(f"{head}{MARK}\n{table(found)}")


def table(found: Sequence[Found]) -> str:
    """One row a case."""
    rows = ["| case | fault came at | end | seconds | connection | wrong |", "| --- | --- | --- | --- | --- | --- |"]
    for one in found:
        said = one.end + (f": {one.reason}" if one.reason else "")
        wrong = "; ".join(one.wrong) or "nothing"
        cells = (one.case, one.landed, said, f"{one.seconds:.1f}", one.connection, wrong)
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(rows) + "\n"
