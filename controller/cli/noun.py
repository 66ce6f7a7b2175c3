"""A noun of the command line. Each of its commands takes `--url`, `--output` and `--color`, and ends with a meaningful
exit code. The commands themselves only call the API, print, and raise Failure."""

import functools
import inspect
import os
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from controller.cli import terminal
from controller.cli.confirmation import HARMFUL, confirm, words
from controller.cli.documents import emit
from controller.cli.failures import DEFECT, UNTOLD, Failure, Refused, Unreachable, untold
from controller.cli.output import complain
from controller.cli.session import Color, Output, session

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The controller: unix:///PATH or http(s)://HOST:PORT. [env: WEFT_URL]"),
]
Format = Annotated[
    Output | None,
    typer.Option(
        "--output", "-o", help="A table for users, or a form for programs; csv and name: of lists and single objects."
    ),
]
Colours = Annotated[
    Color | None,
    typer.Option("--color", help="Colours; auto: on a terminal, unless NO_COLOR is set. [default: auto]"),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="TITLE,TITLE,…", help="Only these columns, in this order.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before the change, on a terminal.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show it again every two seconds, until Ctrl-C.")]

InContext = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="The controller of a context. [env: WEFT_CONTEXT]")
]

OPTIONS = {"url": Url, "context": InContext, "output": Format, "color": Colours}
"""Options of every command."""

_PLACES = ("url", "context")
"""Those that say where the controller is."""

OF_VERBS: Mapping[str, Mapping[str, Any]] = {"list": {"columns": Columns, "watch": Watch}, "show": {"columns": Columns}}
"""Options of commands that show objects."""

_CONTEXT = "typer_context"
"""The parameter by which Typer passes the context of a command."""

DEFAULTS = {"watch": False, "yes": False}

EVERY = 2.0
"""Seconds between two looks of `--watch`."""


def set_session(url: str | None, context: str | None, output: Output | None, color: Color | None) -> None:
    """Store the options in the session; a later value replaces an earlier one."""
    if url and context:
        raise typer.BadParameter("--url and --context both say where the controller is")
    session.url = url or session.url
    session.context = context or session.context
    session.output = output or session.output
    session.color = color or session.color


class Noun(typer.Typer):
    """`weft NOUN VERB`. `name` is singular. `asks`: its commands call a controller, so they take `--url`. `cls` is the
    class of its help, where that differs."""

    def __init__(self, name: str, help: str, asks: bool = True, cls: type[TyperGroup] | None = None) -> None:
        self._options = OPTIONS if asks else {name: one for name, one in OPTIONS.items() if name not in _PLACES}
        super().__init__(
            name=name,
            cls=cls,
            help=help,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )

    def verb(
        self, name: str, example: str, asks: bool = True, **settings: Any
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Return a decorator that adds a command. Its docstring is the help; `example` is shown below it. Without
        `asks` it calls no controller, though others of the noun do."""
        lines = "\n".join(f"  {line.strip()}" for line in example.strip().splitlines())

        def decorate(function: Callable[..., None]) -> Callable[..., None]:
            common = {option: one for option, one in self._options.items() if asks or option not in _PLACES}
            harmful = name in HARMFUL and "url" in common
            options = {**common, **OF_VERBS.get(name, {}), **({"yes": Yes} if harmful else {})}
            self.command(name, epilog=f"\b\nExamples:\n{lines}", **settings)(_command(function, options, harmful))
            return function

        return decorate


def _command(function: Callable[..., None], options: Mapping[str, Any], harmful: bool) -> Callable[..., None]:
    """Return `function` with the options of every command, and with failures turned into exit codes. A harmful one
    asks before."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        given = {name: kwargs.pop(name, None) for name in options}
        context: typer.Context = kwargs.pop(_CONTEXT)
        set_session(given.get("url"), given.get("context"), given.get("output"), given.get("color"))
        if harmful and not kwargs.get("dry_run"):
            with_codes(confirm, words(context), bool(given.get("yes")))
        columns = given.get("columns")
        session.columns = tuple(one.strip() for one in columns.split(",")) if columns else ()
        while given.get("watch"):
            terminal.clear()
            with_codes(function, *args, **kwargs)
            time.sleep(EVERY)
        with_codes(function, *args, **kwargs)

    signature = inspect.signature(function)
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=annotation)
        for name, annotation in options.items()
    ]
    extra.append(inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *extra])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, **options, _CONTEXT: typer.Context}
    return run


def with_codes(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Call a function. A Failure ends the command with its code and message; a defect of weft ends it with one line and
    code 70."""
    try:
        function(*args, **kwargs)
    except Failure as failure:
        if session.documents and isinstance(failure, Refused):
            emit(failure.problem)
        complain(*failure.lines)
        raise typer.Exit(failure.exit_code) from None
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        complain(untold(error))
        raise typer.Exit(UNTOLD) from None
    except Exception as error:
        raise _defect(error) from None


def _defect(error: Exception) -> Exception:
    """Return the exception that ends a command after a defect of weft, and print one line; with WEFT_DEBUG, return the
    error itself. An error while an answer is read is blamed on the answer."""
    if os.environ.get("WEFT_DEBUG"):
        return error
    said = (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
    if session.source and isinstance(error, (TypeError, AttributeError, ValueError, IndexError)):
        complain(f"{session.source} answered with what weft cannot read ({said}): is it Weft, and of this release?")
        return typer.Exit(Unreachable.exit_code)
    complain(f"this is a defect of weft itself: {said} (WEFT_DEBUG=1 shows where)")
    return typer.Exit(DEFECT)
