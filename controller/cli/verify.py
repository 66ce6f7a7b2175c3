"""`weft verify`: active probes through the tunnels, also where nothing may pass."""

from typing import Annotated, Any

import typer

from controller.cli.cells import Row, StateWord, Tone, at, plain, prose
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed, WrongUsage
from controller.cli.output import milliseconds, rows, say
from controller.cli.session import session

TIMEOUT = 330.0
"""Seconds; the controller answers within five minutes."""

End = Annotated[str | None, typer.Argument(help="A cloudlet or an endpoint; two, or none for all pairs.")]
Pool = Annotated[
    str | None,
    typer.Option("--vcp", help="The pairs of a pool's members alone.", autocompletion=names("vcps")),
]
Sample = Annotated[
    int, typer.Option(min=0, max=1000, help="Without names: so many of the pairs that must not pass, chosen at random.")
]

WORDS = {
    ("passes", "passes"): "passes",
    ("resolves", "resolves"): "filtered, as it should be",
    ("silent", "silent"): "does not pass, as it should",
}
"""The results that are as expected, by what is expected and what is observed."""

SEEN = {"passes": "passes", "resolves": "answers ARP or discovery, no echo", "silent": "does not pass"}


def _result(row: Row) -> object:
    good = WORDS.get((str(row.get("expected")), str(row.get("observed"))))
    if row.get("differs"):
        return StateWord(SEEN.get(str(row.get("observed")), str(row.get("observed"))), Tone.ALARM)
    return StateWord(good or plain(row.get("observed")), Tone.GOOD)


COLUMNS = [
    ("FROM", at("near")),
    ("TO", at("far")),
    ("FAMILY", at("family")),
    ("RESULT", _result),
    ("RTT", lambda row: milliseconds(row.get("rtt_ms"))),
    ("MTU", at("mtu")),
    ("WHY", lambda row: prose("differs")(row) if row.get("differs") else prose("why")(row)),
]


def verify(a: End = None, b: End = None, vcp: Pool = None, sample: Sample = 50) -> None:
    """Send probes through the tunnels between two cloudlets or endpoints, in a pool, or between all that share a pool.

    Pairs that share no pool, and those that an access rule separates, are probed too: nothing may pass there. Without
    names a sample of them is. Ends with 0 if all is as it should be, with 1 if anything differs."""
    if (a is None) != (b is None):
        raise WrongUsage("name two cloudlets or endpoints, or none")
    if a is not None and vcp is not None:
        raise WrongUsage("name two cloudlets or endpoints, or give --vcp, not both")
    wanted = {"a": a, "b": b, "sample": sample} | ({"vcp": vcp} if vcp is not None else {})
    with Client(TIMEOUT) as api:
        answer = api.post(path("doctor", "probes"), wanted)
    differing = [pair for pair in answer["pairs"] if pair.get("differs")]
    if session.documents:
        emit(answer)
    else:
        rows(answer["pairs"], COLUMNS, "no pair was probed")
        if session.prose:
            _say(answer, differing)
    if not answer["ok"]:
        raise CheckFailed(f"{len(differing)} of {len(answer['pairs'])} differ" if differing else "results are missing")


def _say(answer: dict[str, Any], differing: list[Row]) -> None:
    for pair in differing:
        say(f"✗ {plain(pair['near'])} to {plain(pair['far'])} ({plain(pair['family'])}): {plain(pair['differs'])}")
        for cause in pair.get("causes") or []:
            say(f"    {plain(cause)}")
    for pair in answer.get("unasked") or []:
        say(f"· not probed: {plain(pair['near'])} to {plain(pair['far'])}: {plain(pair['reason'])}")
    for name, reason in (answer.get("unable") or {}).items():
        say(f"· {plain(name)} cannot be asked: {plain(reason)}")
    counts = f"{plain(answer['passing'])} should pass, {plain(answer['filtered'])} are filtered"
    forbidden = (
        f"{plain(answer['forbidden'])} must not pass (chosen from {plain(answer['forbidden_of'])} pairs of LANs)"
    )
    say(f"probed in {plain(answer['seconds'])} s: {counts}, {forbidden}")
    if answer["ok"]:
        say("✓ all as it should be")
