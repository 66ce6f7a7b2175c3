"""The display of plans, errors and tests of policies."""

from collections.abc import Iterable, Iterator
from typing import Any

from controller.cli.cells import plain
from controller.cli.output import located, say
from controller.cli.session import session

Json = dict[str, Any]

MOST_PEERS = 20
"""Maximum number of PEs that are listed, those with the most routes first."""

MARKS = {"passed": "✓", "failed": "✗", "wrong": "✗", "skipped": "·"}


def print_steps(plan: Json) -> None:
    """Print one line per step, with the sign that diff uses."""
    found = list(steps(plan))
    say(*(map(plain, found) if found else ["nothing to change"]))
    for one in plan.get("waiting") or []:
        say(plain(f"· {one['endpoint']} joins {one['vcp']} later: {one['why']}"))


def steps(plan: Json) -> Iterator[str]:
    """Yield a line for each step, with the sign that diff uses, as the controller has said it."""
    yield from (f"+ VCP {name}" for name in plan["create"])
    yield from (f"~ VCP {name} comes under the policy" for name in plan["adopt"])
    yield from (f"~ VCP {name} is described anew" for name in plan["describe"])
    yield from (f"- VCP {name}" for name in plan["delete"])
    yield from (f"+ {step['endpoint']} joins {step['vcp']}" for step in plan["join"])
    yield from (f"- {step['endpoint']} leaves {step['vcp']}" for step in plan["leave"])
    yield from (f"~ VCP {fall['vcp']} falls into {', '.join(fall['parts'])}" for fall in plan.get("splits") or [])
    for said in plan.get("settings") or []:
        match said["before"], said["after"]:
            case None, after:
                yield f"+ {said['path']}: {after}"
            case before, None:
                yield f"- {said['path']}: {before}"
            case before, after:
                yield f"~ {said['path']}: {before} → {after}"


def print_filters(filters: Iterable[Json]) -> None:
    """Print how many filters PEs would gain and lose, and as many of them as the controller lists."""
    for one in filters:
        say(plain(f"~ {one['endpoint']} filters {one['new']} specifications more, {one['gone']} fewer"))
        say(*(plain(f"    {line}") for line in one["specifications"]))


def print_harm(answer: Json, text: str) -> None:
    """Print leases that the new address plan would not give, and devices that would be cut off from their VMs."""
    say(*(plain(f"! {line}") for line in harm(answer)))
    print_errors([one["at"] for one in answer.get("disconnects") or []], text)


def harm(answer: Json) -> Iterator[str]:
    """Yield a line for each lease that the new address plan would not give."""
    for lease in answer.get("leases") or []:
        held = f"{lease['device']} ({lease['kind']}) holds {lease['address']} at {lease['endpoint']}"
        yield f"{held}: {lease['why']}"


def print_unconsented(answer: Json) -> None:
    """Print endpoints in force without consent, whose tenants must consent from now on."""
    say(*(plain(f"! endpoint {name}: its tenant has not consented to it") for name in answer.get("unconsented") or []))


def print_routes(change: Json) -> None:
    """Print how many routes appear and disappear at each PE."""
    shown, more = peers(change)
    for peer in shown:
        say(plain(f"~ routes at {peer['peer']}: {peer['announced']} appear, {peer['withdrawn']} disappear"))
    if more:
        say(f"~ and at {more} more PEs; --output json has them all")


def peers(change: Json) -> tuple[list[Json], int]:
    """Return the PEs with the most routes that appear or disappear, from the first route server that answered, since
    all have the same; and the number of further PEs."""
    asked = (change.get("route_servers") or [{}])[0].get("peers") or []
    found = sorted(asked, key=lambda peer: -(peer["announced"] + peer["withdrawn"]))
    return found[:MOST_PEERS], len(found[MOST_PEERS:])


def print_tests(tests: Iterable[Json], text: str) -> None:
    """Print a line for each test, and the place of each that fails."""
    refusing = [test for test in tests if test["outcome"] in ("failed", "wrong")]
    for test in tests:
        said = f"test '{test['name']}' {test['outcome']}" if test in refusing else test["said"]["message"]
        say(plain(f"{MARKS[test['outcome']]} {said}"))
    print_errors([test["said"] for test in refusing], text)


def print_errors(errors: Iterable[Json], text: str, kind: str = "") -> None:
    """Print errors as compilers do: file:line:column, the line, and a caret."""
    lines = text.splitlines()
    if session.documents:
        return
    for error in errors:
        line, column = int(error["line"]), int(error["column"])
        shown = plain(lines[line - 1]) if 0 < line <= len(lines) else None
        located(f"{plain(error['file'])}:{line}:{column}:", kind, plain(error["message"]), shown, column)
