"""Contexts: the controllers that a user works with, by name. They are kept below XDG_CONFIG_HOME, in a file that only
the user can read. A context names files with secrets, and contains none."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from controller.cli.failures import WrongUsage
from controller.cli.session import session
from controller.cli.state import config_file

VARIABLE = "WEFT_CONTEXT"


@dataclass(frozen=True)
class Context:
    """A controller: its URL, the file with the user's token there, and the file with the region's root."""

    url: str
    token_file: str | None = None
    root_file: str | None = None


@dataclass(frozen=True)
class Contexts:
    """All contexts by name, and the name of the present one, empty if there is none."""

    current: str
    known: dict[str, Context]


def read() -> Contexts:
    """Return the contexts of this user. Raises WrongUsage if their file cannot be read."""
    file = _file()
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        known = {str(name): Context(**one) for name, one in found["contexts"].items()}
        return Contexts(str(found["current"]), known)
    except FileNotFoundError:
        return Contexts("", {})
    except OSError as error:
        raise WrongUsage(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise WrongUsage(f"{file} has no contexts in it: delete it, and add them again") from None


def write(contexts: Contexts) -> None:
    """Replace the contexts of this user. Raises OSError."""
    file = _file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    known = {name: asdict(one) for name, one in sorted(contexts.known.items())}
    with suppress(FileNotFoundError):
        part.unlink()
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as to:
        json.dump({"current": contexts.current, "contexts": known}, to, indent=1)
    part.replace(file)


def chosen() -> Context | None:
    """Return the context of this command: `--context`, else, where neither --url nor WEFT_URL says where the controller
    is, WEFT_CONTEXT, else the present one; None without any. Raises WrongUsage."""
    if session.url:
        return None
    name = session.context
    if not name and os.environ.get("WEFT_URL"):
        return None
    contexts = read()
    name = name or os.environ.get(VARIABLE) or contexts.current
    return named(name, contexts) if name else None


def named(name: str, contexts: Contexts) -> Context:
    """Return a context. Raises WrongUsage if there is none of that name."""
    if name not in contexts.known:
        there = ", ".join(sorted(contexts.known)) or "none: `weft context add` makes one"
        raise WrongUsage(f"there is no context {name!r}; there is {there}")
    return contexts.known[name]


def _file() -> Path:
    return config_file("contexts.json")
