"""The cases as a page and as JSON: what happened in each, at which step the fault came, and how long the move took."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import fill

from controller.core.saga.steps import Step
from lab import measurements
from lab.faults.cases import Fault
from lab.faults.trial import Found
from lab.paths import ROOT

_ORDER = ("before", *Step)
"""The order of the values of `landed`."""


def keep(found: Sequence[Found], output: Path) -> list[Found]:
    """Write the results as JSON: earlier ones stay, unless the case was run again. Return all."""
    known: dict[str, Found] = {}
    if output.exists():
        known = {one["case"]: Found(**one) for one in json.loads(output.read_text())}
    known |= {one.case: replace(one, reason=one.reason.replace(f"{ROOT}/", "")) for one in found}
    output.write_text(json.dumps([asdict(one) for one in known.values()], indent=1) + "\n")
    return list(known.values())


def write(found: Sequence[Found], page: Path) -> None:
    """Replace the page's table and the text about it, which is all that follows its mark."""
    measurements.show(f"{table(found)}\n{elsewhere(found)}\n", page)


def table(found: Sequence[Found]) -> str:
    """Return a table with one row per case."""
    rows = ["| case | fault came at | end | seconds | connection | wrong |", "| --- | --- | --- | --- | --- | --- |"]
    for one in found:
        said = one.end + (f": {one.reason}" if one.reason else "")
        wrong = "; ".join(one.wrong) or "nothing"
        cells = (one.case, one.landed, said, f"{one.seconds:.1f}", one.connection, wrong)
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def elsewhere(found: Sequence[Found]) -> str:
    """Return in how many cases the harm came at another step than intended. Two moves ordered at once are the harm
    themselves, and so do not count."""
    some = [one for one in found if not one.case.startswith(Fault.TWICE)]
    early, late = ([one for one in some if _off(one) == sign] for sign in (-1, 1))
    told = [_counted(how, ones, some) for how, ones in (("too early", early), ("too late", late)) if ones]
    if told:
        off = len(early) + len(late)
        said = f"In {off} of {len(some)} cases the harm came at another step than asked for: {', '.join(told)}."
    else:
        said = f"In each of {len(some)} cases the harm came at the step asked for."
    if len(some) < len(found):
        said += f" `{Fault.TWICE}` is not counted: its harm is the asking, before any step."
    return fill(said, 120, break_on_hyphens=False)


def _counted(how: str, some: Sequence[Found], found: Sequence[Found]) -> str:
    """Return a text with the number of cases, by the steps that were intended, and of how many."""
    of, everything = Counter(map(_asked, some)), Counter(map(_asked, found))
    steps = (f"`{step}` {of[step]} of {everything[step]}" for step in Step if step in of)
    return f"{how} in {len(some)} ({', '.join(steps)})"


def _asked(found: Found) -> str:
    """Return the step at which the harm was to come."""
    return found.case.rpartition("@")[2]


def _off(found: Found) -> int:
    """Return 0 if the harm came at its step, or began before it and ended after it; -1 if it came too early, 1 if too
    late."""
    came, asked = [_ORDER.index(step) for step in found.landed.split(", ")], _ORDER.index(_asked(found))
    if asked in came or came[0] < asked < came[-1]:
        return 0
    return -1 if came[-1] < asked else 1
