"""Revisions of texts that were applied, of policies and of inventories."""

import sys
from typing import Annotated, Any, cast

import typer

from controller.cli.cells import Row, at, prose, toned
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed, Refused
from controller.cli.output import difference, say
from controller.cli.session import session
from controller.cli.texts import explain

Limit = Annotated[int, typer.Option(min=1, help="Maximum number of revisions.")]
Revision = Annotated[int, typer.Argument(metavar="REVISION", min=1, help="A number from its `history`.")]
InForce = Annotated[
    int | None, typer.Argument(metavar="REVISION", min=1, help="A number from its `history`. [default: in force]")
]
GoBackTo = Annotated[
    int | None, typer.Argument(metavar="REVISION", min=1, help="[default: the last one with a different text]")
]


def _state(row: Row) -> str:
    return "withdrawn" if row.get("withdrawn_at") else "in force" if row.get("in_force") else "superseded"


def columns(what: Any) -> list[tuple[str, Any]]:
    """Return the columns of a history; `what` returns what a revision did."""
    return [
        ("REVISION", at("revision")),
        ("AT (UTC)", lambda row: str(row.get("applied_at"))[:19]),
        ("BY", at("applied_by")),
        ("STATE", lambda row: toned(_state(row))),
        ("GENERATION", at("generation")),
        ("FILE", at("filename")),
        ("WHAT", what),
        ("NOTE", prose("note")),
    ]


def show_text(noun: str, revision: int | None) -> None:
    """Print a text as it was written: the one in force, or an earlier one."""
    with Client() as api:
        answer = api.get(path(noun) if revision is None else path(noun, "revisions", str(revision)))
    if session.documents:
        emit(answer)
    elif answer["text"]:
        sys.stdout.write(answer["text"])
    else:
        raise CheckFailed(f"no {noun} has been applied")


def show_difference(noun: str, before: int, after: int | None) -> None:
    """Print the difference between two revisions."""
    with Client() as api:
        answer = api.get(path(noun, "diff"), before=before, after=after)
    if session.documents:
        emit(answer)
    elif answer["diff"]:
        difference(answer["diff"])
    else:
        say("the same, word for word")


def go_back(
    api: Client, noun: str, now: dict[str, Any], revision: int | None, what: str, **terms: Any
) -> dict[str, Any]:
    """Apply an earlier revision anew, unless another text than `now` is in force, and return the answer. `what` names
    the rollback in messages."""
    try:
        return cast(dict[str, Any], api.post(path(noun, "rollback"), if_match=now["etag"], revision=revision, **terms))
    except Refused as refused:
        explain(refused, what, "")
        raise


def going_back(now: dict[str, Any], revision: int | None) -> tuple[int | None, str]:
    """Return the revision that a rollback goes to, and its name in messages. `now` is the text in force."""
    to = revision or now["back_to"]
    if to is not None and now["revision"] is not None:
        return to, f"rollback from revision {now['revision']} to {to}"
    return to, "rollback"
