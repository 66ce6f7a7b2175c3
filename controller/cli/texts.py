"""Texts that operators write, policies and inventories: read from files, sent, refused with the places of errors."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from controller.cli.client import Client, path
from controller.cli.failures import CheckFailed, Failure, Refused, Unreachable, WrongUsage
from controller.cli.output import say
from controller.cli.policy_plans import print_errors
from controller.cli.session import session

Error = dict[str, Any]


def read(name: str) -> str:
    """Return the text of a file, or of standard input."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{name}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise WrongUsage(f"{name}: {error.strerror}") from None


def lacking(error: ImportError) -> Failure:
    """Return the failure that a package for checking texts is not installed."""
    return Failure(f"checking a form needs the Python package {error.name}: install weft with the extra 'cli'")


def check(
    noun: str,
    name: str,
    form: Callable[[str, str], list[Error]],
    region: str,
    *,
    offline: bool,
    **options: Any,
) -> dict[str, Any]:
    """Check a text, tell people the result, and return it for documents. `form` returns the errors of a file and its
    text that need no controller; `region` says what a controller checks beside them, if one answers."""
    text = read(name)
    errors, note = form(name, text), "form only"
    warnings: list[Error] = []
    if not errors and not offline:
        try:
            with Client() as api:
                answer = api.post_yaml(path(noun, "check"), text, filename=name, **options)
            warnings, note = answer.get("warnings") or [], f"form, and {region} at the controller"
        except Unreachable as failure:
            note = f"form only; {failure.lines[0]}"
        except Refused as refused:
            errors = positions(refused)
    if not session.documents:
        print_errors(warnings, text, "warning: ")
        print_errors(errors, text)
        if not errors:
            say(f"{name}: right ({note})")
    return {"file": name, "ok": not errors, "checked": note, "errors": errors, "warnings": warnings}


def send(
    noun: str,
    verb: str,
    name: str,
    text: str,
    *,
    api: Client | None = None,
    if_match: str | None = None,
    **options: object,
) -> dict[str, Any]:
    """Return the controller's answer. Errors with a place are shown with their lines."""
    if api is None:
        with Client() as made:
            return send(noun, verb, name, text, api=made, if_match=if_match, **options)
    try:
        return cast(Error, api.post_yaml(path(noun, verb), text, if_match, filename=name, **options))
    except Refused as refused:
        explain(refused, name, text)
        raise


def explain(refused: Refused, name: str, text: str) -> None:
    """Raise the refusal again. A refusal about the text, or about another operator's change, gets another message."""
    problem = refused.problem
    if diff := problem.get("diff"):
        raise Refused(problem, [f"{name}: {problem.get('detail')}", *str(diff).splitlines()]) from None
    print_errors(positions(refused), text)
    said = "not right" if problem.get("status") == 422 else str(problem.get("detail"))
    raise Refused(problem, [f"{name}: {said.rstrip('.')}; nothing was changed"]) from None


def positions(refused: Refused) -> list[Error]:
    """Return the problem's errors with a place. Raises the refusal again if it has none, because it is not about the
    text."""
    errors = refused.problem.get("errors")
    found = (
        [error for error in errors if isinstance(error, dict) and "line" in error] if isinstance(errors, list) else []
    )
    if not found:
        raise refused
    return found
