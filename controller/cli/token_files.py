"""The files for the one-time tokens of cloudlets that an inventory makes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli.failures import WrongUsage
from controller.cli.output import say, when
from controller.cli.secret_file import secret_file

TokensTo = Annotated[
    Path | None,
    typer.Option("--tokens-to", metavar="DIR", help="New files DIR/CLOUDLET.token for the tokens of new cloudlets."),
]
TokenSeconds = Annotated[int, typer.Option(help="Seconds until new tokens expire.")]
Answer = dict[str, Any]


def new_cloudlets(plan: Answer) -> list[str]:
    """Return the cloudlets of a plan that get a token: those that are made, and have an agent."""
    made = (step for step in plan["steps"] if step["action"] == "create" and step["section"] == "cloudlets")
    return [step["name"] for step in made if not any(one["field"] == "unmanaged" for one in step["fields"])]


@contextmanager
def token_files(to: Path | None, cloudlets: Iterable[str]) -> Iterator[Callable[[Answer], list[str]]]:
    """Yield a function that writes the tokens of an answer, takes them out of it, and returns their cloudlets. The
    files are made before, so that no token is told in vain; those that stay empty are removed. Raises WrongUsage."""
    with ExitStack() as files:
        writers: dict[str, Callable[[str], None]] = {}
        if to is not None:
            try:
                to.mkdir(mode=0o700, exist_ok=True)
            except OSError as error:
                raise WrongUsage(f"--tokens-to: cannot make {to}: {error.strerror}") from None
            for name in cloudlets:
                writers[name] = files.enter_context(secret_file(to / f"{name}.token", "--tokens-to"))

        def write(answer: Answer) -> list[str]:
            tokens = answer.get("tokens") or {}
            written = sorted(writers.keys() & tokens.keys())
            for name in written:
                writers[name](tokens.pop(name))
            return written

        yield write


def print_tokens(answer: Answer, written: list[str], to: Path | None) -> None:
    """Print where tokens were written, and those that were not."""
    expires = when("tokens_expire_at")(answer)
    if written:
        say(f"tokens of {', '.join(written)} are in {to}; each is good once, until it expires ({expires})")
    for name, token in (answer.get("tokens") or {}).items():
        say(f"{name} enrols with this token, once, until it expires ({expires}); it is not shown again:", f"  {token}")
