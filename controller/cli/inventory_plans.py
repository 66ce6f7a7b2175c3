"""The display of an inventory's steps."""

from collections.abc import Iterator
from typing import Any

from controller.cli.cells import plain
from controller.cli.output import say

Json = dict[str, Any]

NOUNS = {"cloudlets": "cloudlet", "endpoints": "endpoint", "devices": "device", "vms": "VM"}
SIGNS = {"create": "+", "change": "~", "remove": "-"}


def print_steps(plan: Json) -> None:
    """Print one line per object, with the sign that diff uses, and how many objects the inventory does not name."""
    found = [plain(line) for line in steps(plan)]
    say(*(found or ["nothing to change"]))
    if plan.get("adopted"):
        say(f"· named from now on: {_counted(plan['adopted'])}")
    if plan.get("untouched"):
        say(f"· named by no inventory, and left alone: {_counted(plan['untouched'])}")


def steps(plan: Json) -> Iterator[str]:
    """Yield a line for each step."""
    for step in plan["steps"]:
        about = f"{SIGNS[step['action']]} {NOUNS[step['section']]} {step['name']}"
        if step["action"] == "create":
            fields = [f"{one['field']} {_told(one['after'])}" for one in step["fields"]]
        else:
            fields = [f"{one['field']} {_told(one['before'])} → {_told(one['after'])}" for one in step["fields"]]
        yield f"{about}: {', '.join(fields)}" if fields else about


def summary(plan: Json | None) -> str | None:
    """Return the number of objects that a revision made, changed and removed."""
    if plan is None:
        return None
    actions = [step["action"] for step in plan["steps"]]
    said = {"create": "made", "change": "changed", "remove": "removed"}
    return ", ".join(f"{actions.count(one)} {word}" for one, word in said.items() if one in actions) or "nothing"


def _counted(counts: Json) -> str:
    parts = ((number, NOUNS[section]) for section, number in counts.items())
    return ", ".join(f"{number} {noun}{'s' if number > 1 else ''}" for number, noun in parts)


def _told(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case dict():
            return " ".join(f"{key}={_told(one)}" for key, one in sorted(value.items())) or "none"
        case list():
            return " ".join(map(_told, value)) or "none"
    return str(value)
