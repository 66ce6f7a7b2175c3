"""`weft inventory`: the region's cloudlets, endpoints, devices and VMs as text, which is checked and planned before it
is applied."""

from typing import Annotated, Any

import typer

from controller.cli.arguments import ConfirmWithin, DryRun
from controller.cli.bases import Base, digest, recall, remember
from controller.cli.changes import print_change, print_interruptions, print_parts
from controller.cli.client import Client
from controller.cli.confirmation import confirm, interactive
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed, Refused
from controller.cli.inventory_plans import print_steps
from controller.cli.noun import Noun, Yes
from controller.cli.output import say
from controller.cli.policies import AllowDisconnect
from controller.cli.policy_plans import print_errors, print_harm, print_routes
from controller.cli.session import session
from controller.cli.texts import Error, lacking, read, send
from controller.cli.texts import check as check_text
from controller.cli.token_files import TokenSeconds, TokensTo, new_cloudlets, print_tokens, token_files

app = Noun("inventory", "Cloudlets, LANs, devices and VMs as text: check, plan, apply; its history, and drift from it.")

File = Annotated[str, typer.Argument(metavar="FILE", help="An inventory; - is standard input.")]
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Inventories; - is standard input.")]
Offline = Annotated[bool, typer.Option("--offline", help="Use the text alone; ask no controller.")]


@app.verb("check", "weft inventory check inventory.yaml\nweft inventory check --offline inventory.yaml")
def check(files: Files, offline: Offline = False) -> None:
    """Check an inventory: its form and, if a controller answers, what the region refuses."""
    results = [check_text("inventory", name, _form, "the region", offline=offline) for name in files]
    if session.documents:
        emit(results)
    if bad := [result["file"] for result in results if result["errors"]]:
        raise CheckFailed(f"{', '.join(bad)}: not right")


def _form(name: str, text: str) -> list[Error]:
    """Return errors of form. Needs no controller."""
    try:
        from controller.core.inventory import InventoryInvalid, parse
    except ImportError as error:
        raise lacking(error) from None
    try:
        parse(text, name)
    except InventoryInvalid as invalid:
        return [vars(error) for error in invalid.errors]
    return []


@app.verb("plan", "weft inventory plan inventory.yaml\nweft inventory plan inventory.yaml --output json")
def plan(file: File) -> None:
    """Show the effects that the inventory would have. A later `apply` of the file does exactly this, or says why
    not."""
    text = read(file)
    with Client() as api:
        answer = send("inventory", "plan", file, text, api=api)
        remember(api.url, file, Base(answer["etag"], answer["planned"], digest(text)))
    if session.documents:
        emit(answer)
    else:
        _print_plan(answer, text)
    if answer["disconnects"]:
        raise CheckFailed(f"{file}: would be refused, unless it is applied with --allow-disconnect")


@app.verb(
    "apply",
    "weft inventory apply inventory.yaml --tokens-to tokens\nweft inventory apply inventory.yaml --dry-run\n"
    "weft inventory apply inventory.yaml --confirm-within 60",
)
def apply(
    file: File,
    tokens_to: TokensTo = None,
    token_seconds: TokenSeconds = 3600,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    allow_disconnect: AllowDisconnect = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Ignore earlier plans, and inventories that others have applied since.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Make the region as the inventory says, exactly as last planned or not at all. Objects that it named before and
    names no longer are removed. On a terminal, an inventory without a plan is planned first, and asked about."""
    text = read(file)
    terms: dict[str, Any] = {"allow_disconnect": allow_disconnect or None, "token_seconds": token_seconds}
    terms |= {"dry_run": dry_run or None, "confirm_within": confirm_within}
    with Client() as api:
        base = None if anew else recall(api.url, file)
        planned, found = base.plan_of(text) if base else None, None
        if planned is None or tokens_to is not None:
            found = send("inventory", "plan", file, text, api=api)
        if found is not None and planned is None:
            _ask(file, found, text, yes or dry_run)
        new = new_cloudlets(found["plan"]) if found and not dry_run else []
        with token_files(tokens_to, new) as write:
            answer = _apply(api, file, text, base, planned, found, terms)
            written = write(answer)
        if not dry_run:
            remember(api.url, file, Base(answer["etag"]))
    if not session.documents:
        print_errors(answer.get("warnings") or [], text, "warning: ")
        print_steps(answer["plan"])
        print_harm(answer, text)
        print_tokens(answer, written, tokens_to)
    print_change(file, answer)


def _ask(file: str, found: dict[str, Any], text: str, yes: bool) -> None:
    """Show the plan of an inventory, and ask whether to apply it, on a terminal."""
    if not yes and interactive() and not session.documents:
        _print_plan(found, text)
        confirm(f"weft inventory apply {file}", yes)


def _apply(
    api: Client,
    file: str,
    text: str,
    base: Base | None,
    planned: str | None,
    found: dict[str, Any] | None,
    terms: dict[str, Any],
) -> dict[str, Any]:
    """Apply an inventory. Without a base, the inventory in force at the plan `found` is the base."""
    tag = base.etag if base else found["etag"] if found else None
    mark = planned or (found["planned"] if found else None)
    try:
        return send("inventory", "apply", file, text, api=api, if_match=tag, planned=mark, **terms)
    except Refused as refused:
        if base is None or refused.problem.get("status") != 412 or "diff" in refused.problem:
            raise
    remember(api.url, file, None)  # the base was of another region, or the database was made anew
    found = send("inventory", "plan", file, text, api=api)
    mark = found["planned"]
    return send("inventory", "apply", file, text, api=api, if_match=found["etag"], planned=mark, **terms)


def _print_plan(answer: dict[str, Any], text: str) -> None:
    print_errors(answer["warnings"], text, "warning: ")
    print_steps(answer["plan"])
    print_routes(answer["change"])
    print_interruptions(answer["change"])
    print_parts(answer["change"])
    print_harm(answer, text)
    if new := new_cloudlets(answer["plan"]):
        say(f"tokens would be made for {', '.join(new)}: apply it with --tokens-to")
    against = f"revision {answer['revision']}" if answer["revision"] else "no inventory"
    say(f"planned at generation {answer['generation']}, against {against}; nothing was changed")
