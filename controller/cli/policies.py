"""`weft policy`: pools as text, checked before they are applied."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli.arguments import ConfirmWithin, DryRun
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.failures import CheckFailed, Failure, Refused, Unreachable, WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import emit, plain, say
from controller.cli.session import session

app = Noun("policy", "Pools and members as YAML: check, plan, apply.")

File = Annotated[str, typer.Argument(metavar="FILE", help="A policy; - is standard input.")]
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Policies; - is standard input.")]
Error = dict[str, Any]


@app.verb("check", "weft policy check policies/examples/*.yaml\nweft policy check --offline pools.yaml")
def check(
    files: Files, offline: Annotated[bool, typer.Option("--offline", help="The form only; ask no controller.")] = False
) -> None:
    """Is the policy right? Its form, and, when a controller answers, whether what it names exists."""
    results = [_check(name, offline) for name in files]
    if session.json:
        emit(results)
    bad = [result["file"] for result in results if result["errors"]]
    if bad:
        raise CheckFailed(f"{', '.join(bad)}: not right")


def _check(name: str, offline: bool) -> dict[str, Any]:
    text = _read(name)
    errors, note = _form(name, text), "form only"
    if not errors and not offline:
        try:
            with Client() as api:
                api.post_yaml(path("policy", "check"), text, filename=name)
            note = "form, and names at the controller"
        except Unreachable as failure:
            note = f"form only; {failure.lines[0]}"
        except Refused as refused:
            errors = _positions(refused)
    if not session.json:
        _print_errors(errors, text)
        if not errors:
            say(f"{name}: right ({note})")
    return {"file": name, "ok": not errors, "checked": note, "errors": errors}


@app.verb("plan", "weft policy plan pools.yaml")
def plan(file: File) -> None:
    """What would change if the policy were applied."""
    text = _read(file)
    with Client() as api:
        answer = _send(api, "check", file, text)
    if session.json:
        emit(answer)
    else:
        _print_plan(answer["plan"])


@app.verb(
    "apply",
    "weft policy apply pools.yaml\nweft policy apply pools.yaml --dry-run\n"
    "weft policy apply pools.yaml --confirm-within 60",
)
def apply(file: File, dry_run: DryRun = False, confirm_within: ConfirmWithin = None) -> None:
    """Make the pools what the policy says. Pools made over REST that it does not name stay."""
    text = _read(file)
    with Client() as api:
        answer = _send(api, "apply", file, text, dry_run=dry_run or None, confirm_within=confirm_within)
    if not session.json:
        _print_plan(answer["plan"])
    print_change(file, answer)


@app.verb("show", "weft policy show > pools.yaml")
def show() -> None:
    """The policy that was applied last, as it was written."""
    with Client() as api:
        answer = api.get(path("policy"))
    if session.json:
        emit(answer)
    elif answer["text"]:
        sys.stdout.write(answer["text"])
    else:
        raise CheckFailed("no policy has been applied")


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{name}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise WrongUsage(f"{name}: {error.strerror}") from None


def _form(name: str, text: str) -> list[Error]:
    """Errors of form, found here without a controller."""
    try:
        from controller.core.policy import PolicyInvalid, parse
    except ImportError as error:
        raise Failure(
            f"checking a form needs the Python package {error.name}: install weft with the extra 'cli'"
        ) from None
    try:
        parse(text, name)
    except PolicyInvalid as invalid:
        return [vars(error) for error in invalid.errors]
    return []


def _send(api: Client, verb: str, name: str, text: str, **options: object) -> dict[str, Any]:
    """The controller's answer; errors with a place are shown with their lines."""
    errors = _form(name, text)
    if errors:
        _print_errors(errors, text)
        raise CheckFailed(f"{name}: not right; nothing was changed")
    try:
        answer = api.post_yaml(path("policy", verb), text, filename=name, **options)
    except Refused as refused:
        _print_errors(_positions(refused), text)
        raise Refused(refused.problem, [f"{name}: not right; nothing was changed"]) from None
    return dict(answer)


def _positions(refused: Refused) -> list[Error]:
    """The problem's errors; a refusal without any that have a place is not about the text, and goes on its way."""
    errors = refused.problem.get("errors")
    found = (
        [error for error in errors if isinstance(error, dict) and "line" in error] if isinstance(errors, list) else []
    )
    if not found:
        raise refused
    return found


def _print_errors(errors: Iterable[Error], text: str) -> None:
    """As compilers do it: file:line:column, the line, and a caret."""
    lines = text.splitlines()
    if session.json:
        return
    for error in errors:
        line, column = int(error["line"]), int(error["column"])
        print(f"{error['file']}:{line}:{column}: {plain(error['message'])}", file=sys.stderr)
        if 0 < line <= len(lines):
            print(f"  {plain(lines[line - 1])}\n  {' ' * (column - 1)}^", file=sys.stderr)


def _print_plan(plan: dict[str, Any]) -> None:
    """One line per step, with the sign that diff uses."""
    steps = [f"+ VCP {name}" for name in plan["create"]]
    steps += [f"~ VCP {name} comes under the policy" for name in plan["adopt"]]
    steps += [f"~ VCP {name} is described anew" for name in plan["describe"]]
    steps += [f"- VCP {name}" for name in plan["delete"]]
    steps += [f"+ {step['endpoint']} joins {step['vcp']}" for step in plan["join"]]
    steps += [f"- {step['endpoint']} leaves {step['vcp']}" for step in plan["leave"]]
    say(*(map(plain, steps) if steps else ["nothing to change"]))
