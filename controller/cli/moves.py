"""`weft move`: Moves of VMs from one cloudlet to another."""

import sys
from typing import Annotated, Any

import typer

from controller.cli.arguments import OfCloudlet
from controller.cli.cells import Prose, at, plain, state, toned
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.documents import emit, stream
from controller.cli.failures import CheckFailed
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows, say, table, when
from controller.cli.session import Color, session
from controller.cli.sizes import size

app = Noun("move", "Moves of VMs from one cloudlet to another.")

Row = dict[str, Any]
STEPS = (
    "authorise",
    "connect",
    "reserve",
    "initiate",
    "prepare",
    "disk",
    "memory",
    "switchover",
    "activate",
    "join",
    "leave",
)
Move = Annotated[str, typer.Argument(metavar="MOVE", help="A move's name.", autocompletion=names("moves"))]
COLUMNS = [
    ("NAME", at("name")),
    ("VM", at("vm")),
    ("FROM", at("source")),
    ("TO", at("destination")),
    ("STATE", state("state")),
    ("STEP", at("step")),
    ("TOOK", lambda row: _took(row.get("seconds"))),
    ("STARTED", when("created_at")),
    ("WHY", lambda row: Prose(row.get("reason") or _kind(row))),
]
DETAILS = [
    *COLUMNS,
    ("DEVICE", at("device")),
    ("VM IS AT", at("at")),
    ("ADDRESS", at("address")),
    ("NEW ADDRESS", at("new_address")),
    ("POOL JOINED", at("pool")),
    ("ASKED BY", at("asked_by")),
]


def _kind(row: Row) -> str:
    """Return what a move is if it is none in the usual sense."""
    if row.get("anew"):
        return "the VM starts anew"
    return "a copy ahead of a move" if row.get("ahead") else ""


def _took(seconds: object) -> str:
    if not isinstance(seconds, int | float):
        return "-"
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


@app.verb("start", "weft move start web c2-lan\nweft move start web c2-lan --keep --watch")
def start(
    vm: Annotated[str, typer.Argument(metavar="VM", help="A VM's name.", autocompletion=names("vms"))],
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Target LAN.", autocompletion=names("endpoints"))],
    keep: Annotated[bool, typer.Option("--keep", help="Keep its address.")] = False,
    linger: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="How long the old address stays at most. [default: the policy's value]"
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="A note for the record.")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow the move to its end.")] = False,
) -> None:
    """Move a VM to another cloudlet while it runs. It stays there until its device settles at another place, and then
    follows it as usual."""
    body: Row = {"vm": vm, "endpoint": endpoint, "keep": keep, "reason": reason}
    if linger is not None:
        body["linger"] = linger
    with Client() as api:
        answer = api.post(path("moves"), body)
        if watch:
            follow(api, answer["name"])
        else:
            done(
                answer, f"{answer['name']}: {vm} is to move to {endpoint}; `weft move watch {answer['name']}` shows how"
            )


@app.verb("prepare", "weft move prepare web c2-lan\nweft move prepare web c2-lan --watch")
def prepare(
    vm: Annotated[str, typer.Argument(metavar="VM", help="A VM's name.", autocompletion=names("vms"))],
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Target LAN.", autocompletion=names("endpoints"))],
    reason: Annotated[str, typer.Option(help="A note for the record.")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow the copy to its end.")] = False,
) -> None:
    """Copy a VM's memory and disk to another cloudlet ahead of a move. The VM stays. Both cloudlets keep the copies for
    a time that the policy says (migration.keep_seconds), in which a move there copies only what has changed."""
    with Client() as api:
        answer = api.post(path("moves", "ahead"), {"vm": vm, "endpoint": endpoint, "reason": reason})
        if watch:
            follow(api, answer["name"])
        else:
            done(
                answer,
                f"{answer['name']}: {vm} is to be copied to {endpoint}; `weft move watch {answer['name']}` shows how",
            )


@app.verb("list", "weft move list\nweft move list --vm web --limit 5")
def list_(
    vm: Annotated[str | None, typer.Option(help="Only of this VM.", autocompletion=names("vms"))] = None,
    cloudlet: OfCloudlet = None,
    state: Annotated[
        str | None, typer.Option(help="Only moves that are waiting, moving, undoing, done, undone.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of moves.")] = 20,
) -> None:
    """List the latest moves, with the step of each."""
    with Client() as api:
        rows(api.items(path("moves"), limit, vm=vm, cloudlet=cloudlet, state=state), COLUMNS, "no moves")


@app.verb("show", "weft move show move-0a1b2c3d4e")
def show(name: Move) -> None:
    """Show one move with all of its steps. Each has its duration, and the amount that it copied."""
    with Client() as api:
        move = api.get(path("moves", name))
    card(move, DETAILS)
    if session.prose:
        say("")
        print_steps(move)


@app.verb("watch", "weft move watch move-0a1b2c3d4e")
def watch(name: Move) -> None:
    """Follow a move to its end. With JSON, one document a line."""
    with Client() as api:
        follow(api, name)


@app.verb("cancel", "weft move cancel move-0a1b2c3d4e")
def cancel(name: Move) -> None:
    """Cancel a move and undo it, as long as the VM runs at its source."""
    with Client() as api:
        answer = api.delete(path("moves", name))
    done(answer, f"{name} is {answer['state']}")


@app.verb("finish", "weft move finish move-0a1b2c3d4e")
def finish(name: Move) -> None:
    """Remove a VM's old address at once. Connections that use it end. The VM can then move again."""
    with Client() as api:
        answer = api.post(path("moves", name, "finish"))
    done(answer, f"{name}: {answer['vm']} is known by {answer['address']} alone")


def print_steps(move: Row) -> None:
    """Print a line for every step."""
    lines = [
        [
            _name(step),
            toned(step["state"]),
            _took(step["seconds"]),
            *_copied(step),
            Prose(step["detail"] or _pages(step)),
        ]
        for step in move["steps"]
    ]
    table(["STEP", "STATE", "TOOK", "COPIED", "ON THE WIRE", "PAUSE", "WHAT"], lines)


def _name(step: Row) -> str:
    return f"undo: {step['step']}" if step["undoing"] else str(step["step"])


def _copied(step: Row) -> list[object]:
    figures = step["figures"]
    pause = figures.get("paused_ms")
    sizes: list[object] = [size(figures[key]) if figures.get(key) is not None else None for key in ("done", "wire")]
    return [*sizes, f"{pause:,.0f} ms" if pause is not None else None]


def _pages(step: Row) -> str:
    """Return how a step's pages went over a thin line; empty if they went otherwise."""
    pages = step["figures"].get("pages")
    if not pages:
        return ""
    words = (("zero", "zero"), ("same", "unchanged"), ("known", "known there"), ("delta", "changed in part"))
    told = [f"{pages[key]:,} {word}" for key, word in (*words, ("literal", "sent whole")) if pages[key]]
    told += [f"{pages['repeats']:,} parts sent again"] if pages["repeats"] else []
    return f"pages: {', '.join(told)}" + ("; a copy of an earlier stay was there" if pages["kept"] else "")


def follow(api: Client, name: str) -> None:
    """Follow a move to its end. Raises CheckFailed if it is undone."""
    move: Row = {}
    if session.documents or not sys.stdout.isatty():
        told: set[str] = set()
        for _, move in api.events(path("moves", name), None):
            if session.documents:
                stream(move)
            else:
                _lines(move, told)
    else:
        move = _bar(api, name)
    if not move:
        raise CheckFailed(f"{name}: the controller ended the stream")
    where = f"{move['vm']} is at {move['at']}, known by {move['address']}"
    if move.get("ahead") and move["state"] == "done":
        where += f", and a copy of it at {move['endpoint']}"
    text = f"{name} is {move['state']} after {_took(move['seconds'])}: {where}"
    text += f"; {move['reason']}" if move["reason"] else ""
    if move["state"] == "undone":
        raise CheckFailed(text)
    if not session.documents:
        say(plain(text))


def _lines(move: Row, told: set[str]) -> None:
    """Print each finished step once."""
    for number, step in enumerate(move["steps"]):
        key = f"{number}"
        if step["ended_at"] is not None and key not in told and step["state"] != "skipped":
            told.add(key)
            detail = f": {step['detail']}" if step["detail"] else ""
            say(plain(f"{_name(step):<12}{step['state']:<9}{_took(step['seconds']):>10}{detail}"))


def _bar(api: Client, name: str) -> Row:
    """Show a bar that grows with every step, and within steps that copy."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    move: Row = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(no_color=session.color is Color.NEVER), transient=True) as progress:
        task = progress.add_task(name, total=1.0)
        for _, move in api.events(path("moves", name), None):
            doing = f"{move['vm']} {move['source']} → {move['destination']}: {move['state']}, {move['step']}"
            progress.update(task, description=plain(doing), completed=_share(move))
    print_steps(move) if move else None
    return move


def _share(move: Row) -> float:
    """Return how much of a move is done, roughly: every step counts the same."""
    if move["step"] not in STEPS:
        return 1.0 if move["state"] in ("done", "undone") else 0.9
    figures = move["figures"].get(move["step"]) or {}
    within = (figures.get("done") or 0) / figures["total"] if figures.get("total") else 0.0
    return (STEPS.index(move["step"]) + min(within, 1.0)) / len(STEPS)


def print_evacuation(name: str, answer: Row) -> None:
    """Print the moves that were started, and the VMs that stay."""
    if session.documents:
        emit(answer)
    else:
        rows(answer["moves"], COLUMNS[:6], f"no VM leaves {name}")
    if answer["moving"] and session.prose:
        say(f"on their way already: {plain(answer['moving'])}")
    if answer["stranded"]:
        if session.prose:
            for vm, why in sorted(answer.get("why", {}).items()):
                say(plain(f"! {vm} stays at {name}: {why}"))
        raise CheckFailed(f"cannot leave {name}: {plain(answer['stranded'])}")
