"""The plan of a policy as Markdown, for a comment on a merge request."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from controller.cli.cells import plain
from controller.cli.policy_plans import MARKS, harm, peers, steps

Json = dict[str, Any]


def comment(file: str, answer: Json) -> str:
    """Return the comment: steps, routes per PE, tests, warnings, and harm that --allow-disconnect would accept."""
    against = f"revision {answer['revision']}" if answer["revision"] else "no policy"
    found = list(steps(answer["plan"]))
    lines = [f"### Plan of `{plain(file)}`", ""]
    lines += _diff(found) if found else ["Nothing to change."]
    lines += _section("Would be refused", [*_refusals(answer)])
    lines += _section("Harm", list(harm(answer)))
    lines += _routes(answer)
    lines += _section("Warnings", [_placed(one) for one in answer["warnings"]])
    lines += _section("Tests", [f"{MARKS[test['outcome']]} {plain(test['name'])}" for test in answer["tests"]])
    lines += ["", f"Planned at generation {answer['generation']}, against {against}; nothing was changed."]
    return "\n".join(lines) + "\n"


def _diff(lines: Iterable[str]) -> list[str]:
    """Return a block that is coloured as a diff; no text in it can end it."""
    shown = [plain(line) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *(_signed(line) for line in shown), fence]


def _signed(line: str) -> str:
    return f"! {line[2:]}" if line.startswith("~ ") else line


def _refusals(answer: Json) -> Iterator[str]:
    for one in answer.get("disconnects") or []:
        yield f"{_placed(one['at'])} (`--allow-disconnect`)"
    for name in answer.get("unconsented") or []:
        yield f"endpoint {name}: its tenant has not consented to it (`--hold-back`)"
    for test in answer["tests"]:
        if test["outcome"] in ("failed", "wrong"):
            yield _placed(test["said"])


def _routes(answer: Json) -> list[str]:
    shown, more = peers(answer["change"])
    if not shown:
        return []
    rows = [f"| {plain(one['peer'])} | {one['announced']} | {one['withdrawn']} |" for one in shown]
    lines = ["", "| PE | routes that appear | routes that disappear |", "| --- | ---: | ---: |", *rows]
    return [*lines, *([f"| and {more} more PEs | | |"] if more else [])]


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"**{title}**", "", *(f"- {_inline(line)}" for line in lines)] if lines else []


def _placed(error: Json) -> str:
    return f"line {error['line']}: {plain(error['message'])}"


def _inline(text: str) -> str:
    """Escape what Markdown and HTML would take for markup; words in backquotes are ours."""
    return re.sub(r"([\\*_\[\]<>&|#@])", r"\\\1", plain(text))
