"""A noun of the command line. Each of its commands takes `--url`, `--output` and `--color`, and ends with a meaningful
exit code. The commands themselves only call the API, print, and raise Failure."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from controller.cli.failures import DEFECT, UNTOLD, Failure, Refused, Unreachable, untold
from controller.cli.output import complain, emit
from controller.cli.session import Color, Output, session

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The controller: unix:///PATH or http(s)://HOST:PORT. [env: WEFT_URL]"),
]
Format = Annotated[
    Output | None,
    typer.Option("--output", "-o", help="A table for users or JSON for programs."),
]
Colours = Annotated[
    Color | None,
    typer.Option("--color", help="Colours; auto: on a terminal, unless NO_COLOR is set. [default: auto]"),
]
OPTIONS = {"url": Url, "output": Format, "color": Colours}
"""Options of every command."""


def set_session(url: str | None, output: Output | None, color: Color | None) -> None:
    """Store the options in the session; a later value replaces an earlier one."""
    session.url = url or session.url
    session.output = output or session.output
    session.color = color or session.color


class Noun(typer.Typer):
    """`weft NOUN VERB`. `name` is singular. `asks`: its commands call a controller, so they take `--url`."""

    def __init__(self, name: str, help: str, asks: bool = True) -> None:
        self._options = OPTIONS if asks else {name: one for name, one in OPTIONS.items() if name != "url"}
        super().__init__(
            name=name,
            help=help,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )

    def verb(self, name: str, example: str, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Return a decorator that adds a command. Its docstring is the help; `example` is shown below it."""
        lines = "\n".join(f"  {line.strip()}" for line in example.strip().splitlines())

        def decorate(function: Callable[..., None]) -> Callable[..., None]:
            self.command(name, epilog=f"\b\nExamples:\n{lines}", **settings)(_command(function, self._options))
            return function

        return decorate


def _command(function: Callable[..., None], options: Mapping[str, Any]) -> Callable[..., None]:
    """Return `function` with the options of every command, and with failures turned into exit codes."""

    @functools.wraps(function)
    def run(
        *args: Any, url: str | None = None, output: Output | None = None, color: Color | None = None, **kwargs: Any
    ) -> None:
        set_session(url, output, color)
        with_codes(function, *args, **kwargs)

    signature = inspect.signature(function)
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *extra])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, **options}
    return run


def with_codes(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Call a function. A Failure ends the command with its code and message; a defect of weft ends it with one line and
    code 70."""
    try:
        function(*args, **kwargs)
    except Failure as failure:
        if session.json and isinstance(failure, Refused):
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
