"""`weft inventory`, past and present: revisions, the differences between them, rollback, drift, and export."""

import sys
from typing import Any

from controller.cli.arguments import ConfirmWithin, DryRun
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed
from controller.cli.inventory import app as app
from controller.cli.inventory_plans import print_steps, summary
from controller.cli.output import rows
from controller.cli.policies import AllowDisconnect
from controller.cli.policy_plans import print_errors, print_harm
from controller.cli.revisions import (
    GoBackTo,
    InForce,
    Limit,
    Revision,
    columns,
    go_back,
    going_back,
    show_difference,
    show_text,
)
from controller.cli.session import session
from controller.cli.token_files import TokenSeconds, TokensTo, new_cloudlets, print_tokens, token_files


@app.verb("history", "weft inventory history\nweft inventory history --limit 100 --output json")
def history(limit: Limit = 20) -> None:
    """List the revisions of the inventory, the latest first."""
    with Client() as api:
        what = columns(lambda row: summary(row.get("summary")))
        rows(api.items(path("inventory", "revisions"), limit), what, "no inventory has been applied")


@app.verb("show", "weft inventory show > inventory.yaml\nweft inventory show 7")
def show(revision: InForce = None) -> None:
    """Print an inventory as it was written: the one in force, or an earlier one."""
    show_text("inventory", revision)


@app.verb("diff", "weft inventory diff 7\nweft inventory diff 7 9")
def diff(before: Revision, after: InForce = None) -> None:
    """Print the difference between two revisions."""
    show_difference("inventory", before, after)


@app.verb("rollback", "weft inventory rollback\nweft inventory rollback 7 --dry-run")
def rollback(
    revision: GoBackTo = None,
    tokens_to: TokensTo = None,
    token_seconds: TokenSeconds = 3600,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    allow_disconnect: AllowDisconnect = False,
) -> None:
    """Apply an earlier revision as a new one, with the same checks. Refused if the inventory in force changes
    meanwhile."""
    terms: dict[str, Any] = {"allow_disconnect": allow_disconnect or None, "token_seconds": token_seconds}
    terms |= {"confirm_within": confirm_within}
    with Client() as api:
        now = api.get(path("inventory"))
        to, what = going_back(now, revision)
        new = list[str]()
        if tokens_to is not None and not dry_run:
            new = new_cloudlets(go_back(api, "inventory", now, to, what, dry_run=True, **terms)["plan"])
        with token_files(tokens_to, new) as write:
            answer = go_back(api, "inventory", now, to, what, dry_run=dry_run or None, **terms)
            written = write(answer)
    if not session.documents:
        print_errors(answer["warnings"], "", "warning: ")
        print_steps(answer["plan"])
        print_harm(answer, "")
        print_tokens(answer, written, tokens_to)
    print_change(what, answer)


@app.verb("drift", "weft inventory drift")
def drift() -> None:
    """Compare the region with the inventory in force. Shows the changes that applying it again would make. Ends with 1
    if anything differs."""
    with Client() as api:
        answer = api.get(path("inventory", "drift"))
    if session.documents:
        emit(answer)
    else:
        print_steps(answer["plan"])
        print_errors(answer["trouble"], "")
    if answer["drift"] or answer["trouble"]:
        raise CheckFailed(f"not as revision {answer['revision']} of the inventory says")


@app.verb("export", "weft inventory export > inventory.yaml")
def export() -> None:
    """Print an inventory of all that the region has. Applied, it changes nothing."""
    with Client() as api:
        answer = api.get(path("inventory", "export"))
    if session.documents:
        emit(answer)
    else:
        sys.stdout.write(answer["text"])
