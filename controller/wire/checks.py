"""The result of one check, and all results as text."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """`ok`: as it has to be. `warning`: something that is not needed by all cloudlets is not there. `failed`: the agent
    cannot work so."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Result:
    """The result of a check of `subject`: `said` is what is there, and `remedy` what an operator does about it."""

    subject: str
    outcome: Outcome
    said: str
    remedy: str = ""


def ok(subject: str, said: str) -> Result:
    return Result(subject, Outcome.OK, said)


def warning(subject: str, said: str, remedy: str = "") -> Result:
    return Result(subject, Outcome.WARNING, said, remedy)


def failed(subject: str, said: str, remedy: str = "") -> Result:
    return Result(subject, Outcome.FAILED, said, remedy)


_SIGNS = {Outcome.OK: "✓", Outcome.WARNING: "!", Outcome.FAILED: "✗"}


def text(results: Sequence[Result], output: str) -> str:
    """Return the results as text. `output` is `json` or `table`."""
    if output == "json":
        return json.dumps([asdict(one) for one in results], indent=2)
    width = max(len(one.subject) for one in results)
    lines = []
    for one in results:
        lines.append(f"{_SIGNS[one.outcome]} {one.subject:<{width}}  {one.said}")
        if one.remedy:
            lines.append(f"  {'':<{width}}  → {one.remedy}")
    return "\n".join(lines)
