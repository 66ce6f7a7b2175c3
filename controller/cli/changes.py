"""`weft change`: past changes, and the ends of changes on trial. Also prints the effects of any change: its duration,
the routes that the route servers sent, and the cloudlets whose kernels agreed."""

from typing import Annotated, Any

import typer

from controller.cli.cells import Prose, at, plain, prose, state, toned
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed
from controller.cli.noun import Noun
from controller.cli.output import card, milliseconds, relative, rows, say, table, when
from controller.cli.policy_plans import print_steps
from controller.cli.session import session

app = Noun("change", "Changes of the rule set, and the ends of those on trial.")

Change = dict[str, Any]
Generation = Annotated[int, typer.Argument(metavar="GENERATION", min=0, help="The generation that the change made.")]
Waiting = Annotated[
    int | None,
    typer.Argument(metavar="GENERATION", min=0, help="The generation on trial. [default: the present one]"),
]
FEW = 12
"""Maximum number of agents that are listed one by one; beyond that, agents without trouble are only counted."""

COLUMNS = [
    ("GENERATION", at("generation")),
    ("AT (UTC)", lambda row: str(row.get("at"))[:19]),
    ("STATE", state("state")),
    ("CONFIRM", lambda row: when("confirm_by")(row) if row.get("state") == "on-trial" else None),
    ("WHAT", prose("cause")),
]


@app.verb("list", "weft change list\nweft change list --limit 100 --output json")
def list_(limit: Annotated[int, typer.Option(min=1, help="Maximum number of changes.")] = 20) -> None:
    """List the latest changes, with the state of each."""
    with Client() as api:
        rows(api.items(path("changes"), limit), COLUMNS, "no changes")


@app.verb("show", "weft change show 42")
def show(generation: Generation) -> None:
    """Show one change."""
    with Client() as api:
        card(api.get(path("changes", str(generation))), COLUMNS)


@app.verb("confirm", "weft change confirm\nweft change confirm 42")
def confirm(generation: Waiting = None) -> None:
    """End a trial and keep the change."""
    with Client() as api:
        number = _on_trial(api) if generation is None else generation
        answer = api.post(path("changes", str(number), "confirm"))
    if session.documents:
        emit(answer)
    else:
        say(f"change {number} is confirmed: it is permanent")
    if answer["unreachable"]:
        away = ", ".join(answer["unreachable"])
        raise CheckFailed(f"could not be told, and may take it back until reachable again: route server {away}")


@app.verb("rollback", "weft change rollback\nweft change rollback 42")
def rollback(generation: Waiting = None) -> None:
    """End a trial and roll the change back at once."""
    with Client() as api:
        number = _on_trial(api) if generation is None else generation
        print_change(f"change {number} is rolled back", api.post(path("changes", str(number), "rollback")))


def latest(api: Client) -> int:
    """Return the generation that the latest change made. Raises CheckFailed when there is none."""
    change = _latest(api)
    if change is None:
        raise CheckFailed("nothing was changed yet")
    return int(change["generation"])


def _on_trial(api: Client) -> int:
    change = _latest(api)
    if change is None or change["state"] != "on-trial":
        raise CheckFailed("no change is on trial")
    return int(change["generation"])


def _latest(api: Client) -> Change | None:
    return next(iter(api.items(path("changes"), 1)), None)


def print_change(what: str, change: Change) -> None:
    """Print the effects of a change. Raises CheckFailed if the change is made but not in force everywhere."""
    if session.documents:
        emit(change)
    elif change.get("dry_run"):
        say(f"{what}: this is what would happen")
    elif change["in_force"]:
        say(f"{what}: in force after {milliseconds(change['duration_ms'])}, generation {change['generation']}")
    else:
        say(f"{what}: generation {change['generation']}, not yet in force everywhere")
    if not session.documents:
        if change.get("followed"):
            say("by the policy:")
            print_steps(change["followed"])
            for one in change["followed"].get("out") or []:
                say(plain(f"! {one['endpoint']} stays out of {one['vcp']}: {one['why']}"))
        print_interruptions(change)
        print_parts(change)
        if change.get("confirm_by"):
            by, number = change["confirm_by"], change["generation"]
            say(f"on trial: rolled back {relative(by)}, unless `weft change confirm {number}` comes before")
    missing = [f"route server {name}" for name in change.get("unreachable") or []]
    missing += [f"agent of {agent['cloudlet']}" for agent in change.get("agents") or [] if not agent["confirmed"]]
    missing += [f"PE of {name}" for name in change.get("behind") or []]
    if not change["in_force"] and not change.get("dry_run"):
        who = ", ".join(missing) or "an unnamed recipient"
        raise CheckFailed(f"made, but not confirmed within the time allowed by: {who}")


def print_interruptions(change: Change) -> None:
    """Print the traffic that a change interrupts, or would."""
    say(*(plain(f"! {one['kind']} {one['name']}: {one['what']}") for one in change.get("interrupted") or []))


def print_parts(change: Change) -> None:
    """Print the effect at each route server, PE and agent, or the expected effect."""
    lines = [_receipt(receipt) for receipt in change.get("route_servers") or []]
    lines += [[toned("✗"), f"route server {name}", "not reached", "-"] for name in change.get("unreachable") or []]
    refused = [toned("✗"), Prose("does not take what it is sent"), "-"]
    lines += [[refused[0], f"PE of {name}", *refused[1:]] for name in change.get("behind") or []]
    lacks = Prose("has no agent: nobody knows what it does, and it has no DHCP, fences, access rules or moves")
    lines += [[toned("·"), f"PE of {name}", lacks, "-"] for name in change.get("unmanaged") or []]
    agents = change.get("agents") or []
    alike = [agent for agent in agents if change.get("dry_run") or agent["confirmed"]]
    if len(alike) > FEW:
        latest = max((agent.get("after_ms") or 0 for agent in alike), default=0)
        text = "would be told" if change.get("dry_run") else "kernels agree"
        mark = "·" if change.get("dry_run") else "✓"
        lines.append([toned(mark), f"agents of {len(alike)} cloudlets", text, milliseconds(latest or None)])
        agents = [agent for agent in agents if not (change.get("dry_run") or agent["confirmed"])]
    for agent in agents:
        if change.get("dry_run"):
            lines.append([toned("·"), f"agent of {agent['cloudlet']}", "would be told", "-"])
        else:
            tick, text = ("✓", "kernel agrees") if agent["confirmed"] else ("✗", "has not confirmed")
            lines.append(
                [toned(tick), f"agent of {agent['cloudlet']}", Prose(text), milliseconds(agent.get("after_ms"))]
            )
    if lines:
        table(["", "WHO", "WHAT", "AFTER"], lines)


def _receipt(receipt: dict[str, Any]) -> list[object]:
    peers = [str(peer["peer"]) for peer in receipt.get("peers") or []]
    to = f" to {', '.join(peers)}" if len(peers) <= 6 else f" to {len(peers)} PEs"
    sent = f"{receipt['announced']} announced, {receipt['withdrawn']} withdrawn{to if peers else ''}"
    mark = "·" if receipt.get("dry_run") else "✓"
    return [
        toned(mark),
        f"route server {receipt['route_server']}",
        Prose(sent),
        milliseconds(receipt["duration_us"] / 1000),
    ]
