"""`weft move predict` and `weft move decisions`: the estimate of a move, and the decisions based on such estimates."""

from typing import Annotated, Any

import typer

from controller.cli.arguments import Endpoint
from controller.cli.cells import Prose, Row, at
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.documents import emit
from controller.cli.moves import app
from controller.cli.output import milliseconds, rows, say, table, when
from controller.cli.session import session
from controller.cli.sizes import mbits, seconds, size
from controller.cli.vms import Vm

FIGURES = {
    "memory": ("memory to copy", size),
    "dirty_rate": ("memory written a second", size),
    "disk": ("disk to send", size),
    "ratio": ("on the wire for one byte of memory", lambda value: f"{value:.2f}"),
    "bandwidth": ("bandwidth", lambda value: f"{mbits(value)} Mbit/s"),
    "rtt_ms": ("round trip", milliseconds),
    "buffer_ms": ("that a full link adds at most", milliseconds),
    "idle": ("in which the line has nothing to do", seconds),
    "downtime_ms": ("pause that is aimed at", milliseconds),
}
COURSES = {
    "move": "it would move",
    "synthesise": "a new one should start there",
    "stay": "it would stay",
}
COLUMNS = [
    ("ID", at("id")),
    ("WHEN", when("at")),
    ("VM", at("vm")),
    ("DEVICE", at("device")),
    ("FROM", at("source")),
    ("TO", at("destination")),
    ("DECISION", at("course")),
    ("RTT", lambda row: milliseconds(row.get("estimate", {}).get("rtt_ms"))),
    ("TAKES", lambda row: seconds(row.get("estimate", {}).get("seconds"))),
    ("MOVE", at("move")),
    ("REASONS", lambda row: Prose("; ".join(row.get("reasons", [])))),
]


@app.verb("predict", "weft move predict web c2-lan\nweft move predict web c2-lan --output json")
def predict(vm: Vm, endpoint: Endpoint) -> None:
    """Predict a move. Shows the figures behind it, their precision, and the decision that would follow. Changes
    nothing."""
    with Client() as api:
        found = api.get(path("moves", "prediction"), vm=vm, endpoint=endpoint)
    if session.documents:
        emit(found)
        return
    estimate = found["estimate"]
    say(f"{vm} from {found['source']} to {found['destination']}:", "")
    inputs = estimate["inputs"]
    table(["INPUT", "VALUE", "FROM"], [_input(name, inputs[name]) for name in FIGURES if name in inputs])
    say("", *_outcome(estimate), *_trust(estimate), _anew(found), "")
    say(f"If its device were there, {COURSES[found['course']]}:", *(f"  {reason}" for reason in found["reasons"]))


@app.verb("decisions", "weft move decisions\nweft move decisions --vm web --limit 5")
def decisions(
    vm: Annotated[str | None, typer.Option(help="Only of this VM.", autocompletion=names("vms"))] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Only those that `weft vm synthesise` has yet to carry out.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of decisions.")] = 20,
) -> None:
    """List decisions after devices were seen elsewhere, with their reasons. The latest come first."""
    with Client() as api:
        rows(api.items(path("decisions"), limit, vm=vm, waiting=waiting or None), COLUMNS, "no decisions yet")


def _anew(found: Row) -> str:
    past = found["initiations"]
    origin = f"the median of {past} that started" if past else "the policy says; none was measured"
    return f"a new VM would serve after {seconds(found['initiation_seconds'])}: {origin}"


def _input(name: str, given: Row) -> list[Any]:
    title, show = FIGURES[name]
    value = given.get("value")
    return [title, "-" if value is None else show(value), Prose(given.get("origin") or "")]


def _outcome(estimate: Row) -> list[str]:
    made = estimate["forecast"]
    if made is None:
        return ["Nobody can predict it: how far the cloudlets are from each other is not known."]
    during = f"round trip during the move: {milliseconds(estimate['rtt_ms'])}"
    bound = "TCP's window" if made["window_bound"] else "the link"
    if not made["converges"]:
        return [f"The copy would never end: memory is written faster than {bound} takes it.", during]
    slowed = f", the VM slowed down by {made['throttle']:.0%}" if made["throttle"] else ""
    return [
        f"model: {seconds(made['seconds'])} in {made['rounds']} rounds{slowed}; {size(made['wire'])} on the wire at "
        f"{size(made['rate'])}/s, bound by {bound}; paused {milliseconds(made['paused_ms'])}",
        during,
    ]


def _trust(estimate: Row) -> list[str]:
    known, off = estimate["correction"], estimate["error"]
    lines = []
    if estimate["seconds"] is not None:
        lines.append(
            f"corrected by history: {seconds(estimate['seconds'])} (x {known['factor']:.2f}: image "
            f"{known['image_factor']:.2f} by {known['image_moves']} moves, link {known['link_factor']:.2f} by "
            f"{known['link_moves']})"
        )
    if off is None:
        return [*lines, "no past prediction to judge this one by"]
    told = f"off by {off['median']:.0%} in the median, {off['p90']:.0%} in nine of ten, over {off['moves']} moves"
    return [*lines, f"past predictions: {told}"]
