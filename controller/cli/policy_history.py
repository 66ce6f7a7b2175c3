"""`weft policy`, past: revisions, the differences between them, rollback, and drift."""

from typing import Any

from controller.cli.arguments import ConfirmWithin, DryRun
from controller.cli.cells import plain
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed
from controller.cli.output import rows, say
from controller.cli.policies import AllowDisconnect, CountConsented, HoldBack, Strict, app
from controller.cli.policy_plans import print_errors, print_harm, print_steps
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

PARTS = (("create", "VCPs made"), ("delete", "VCPs deleted"), ("join", "joins"), ("leave", "leaves"))


def _what(row: dict[str, Any]) -> str | None:
    summary = row.get("summary")
    if summary is None:
        return None
    counts = [f"{len(summary[key])} {noun}" for key, noun in (*PARTS, ("settings", "settings")) if summary.get(key)]
    return ", ".join(counts) or "nothing in the pools"


@app.verb("history", "weft policy history\nweft policy history --limit 100 --output json")
def history(limit: Limit = 20) -> None:
    """List the revisions of the policy, the latest first."""
    with Client() as api:
        rows(api.items(path("policy", "revisions"), limit), columns(_what), "no policy has been applied")


@app.verb("show", "weft policy show > pools.yaml\nweft policy show 7")
def show(revision: InForce = None) -> None:
    """Print a policy as it was written: the one in force, or an earlier one."""
    show_text("policy", revision)


@app.verb("diff", "weft policy diff 7\nweft policy diff 7 9")
def diff(before: Revision, after: InForce = None) -> None:
    """Print the difference between two revisions."""
    show_difference("policy", before, after)


@app.verb("rollback", "weft policy rollback\nweft policy rollback 7 --dry-run")
def rollback(
    revision: GoBackTo = None,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    strict: Strict = False,
    allow_disconnect: AllowDisconnect = False,
    hold_back: HoldBack = False,
    count_consented: CountConsented = False,
) -> None:
    """Apply an earlier revision as a new one, with the same checks. Refused if the policy in force changes
    meanwhile."""
    terms: dict[str, Any] = {"strict": strict or None, "allow_disconnect": allow_disconnect or None}
    terms |= {"dry_run": dry_run or None, "confirm_within": confirm_within}
    terms |= {"hold_back": hold_back or None, "count_consented": count_consented or None}
    with Client() as api:
        now = api.get(path("policy"))
        to, what = going_back(now, revision)
        answer = go_back(api, "policy", now, to, what, **terms)
    if not session.documents:
        print_errors(answer["warnings"], "", "warning: ")
        print_steps(answer["plan"])
        print_harm(answer, "")
    print_change(what, answer)


@app.verb("drift", "weft policy drift")
def drift() -> None:
    """Compare the region with the policy in force. Shows the changes that applying it again would make. Ends with 1 if
    anything differs."""
    with Client() as api:
        answer = api.get(path("policy", "drift"))
    wrong = [*answer["trouble"], *answer["failing"]]
    if session.documents:
        emit(answer)
    else:
        print_steps(answer["plan"])
        for one in answer["plan"].get("out") or []:
            say(plain(f"! {one['endpoint']} cannot be in {one['vcp']}: {one['why']}"))
        print_errors(wrong, "")
    if answer["drift"] or wrong:
        raise CheckFailed(f"not as revision {answer['revision']} of the policy says")
