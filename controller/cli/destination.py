"""The controller that a command asks: its URL, the user's token there, and the root to trust. It is found once for each
conversation, from the options, the contexts and the environment."""

import os
from dataclasses import dataclass
from pathlib import Path

from controller.cli import contexts, logins
from controller.cli.contexts import Context
from controller.cli.failures import WrongUsage
from controller.cli.session import session

SOCKETS = (Path("/run/weft-lab/controller.sock"), Path("/run/weft/controller.sock"))
TCP = "http://127.0.0.1:8080"

ROOT = "WEFT_ROOT_FILE"
"""The file of the region's root (`weft certificate authority`). With it, an https:// URL must be the region's
controller."""


@dataclass(frozen=True)
class Destination:
    """A controller, and the context that names it, if one does."""

    url: str
    context: Context | None

    @property
    def root_file(self) -> str | None:
        """The file of the root to trust: the context's, else that of the environment."""
        return self.context.root_file if self.context is not None else os.environ.get(ROOT)

    def token(self) -> str:
        """Return the token in the file of the context, else in the file WEFT_TOKEN_FILE, else WEFT_TOKEN, else the
        token of the login at this URL; empty without a login. A context's controller gets no token that is meant for
        another. Raises WrongUsage."""
        if self.context is not None:
            file = self.context.token_file
            return token_in_file("the context's token file", file) if file else logins.token(self.url)
        if file := os.environ.get("WEFT_TOKEN_FILE"):
            return token_in_file("WEFT_TOKEN_FILE", file)
        return sendable("WEFT_TOKEN", os.environ.get("WEFT_TOKEN", "")) or logins.token(self.url)


def destination() -> Destination:
    """Return the controller of `--url`, else of the context (`contexts.chosen`), else of WEFT_URL, else the lab's
    socket, else the machine's socket, else TCP on this machine. Raises WrongUsage."""
    if session.url:
        return Destination(session.url, None)
    if context := contexts.chosen():
        return Destination(context.url, context)
    if url := os.environ.get("WEFT_URL"):
        return Destination(url, None)
    socket = next((socket for socket in SOCKETS if socket.exists()), None)
    return Destination(f"unix://{socket}" if socket else TCP, None)


def token_in_file(where: str, file: str) -> str:
    """Return the token in a file; `where` says who names the file. Raises WrongUsage."""
    try:
        return sendable(where, Path(file).read_text(encoding="ascii"))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise WrongUsage(f"{where}: cannot read {file}: {reason}") from None


def sendable(where: str, text: str) -> str:
    """Return a token in the form that a header allows; the error message does not repeat the secret. Raises
    WrongUsage."""
    token = text.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise WrongUsage(f"{where}: this is not a token: a token is one word of ASCII characters")
    return token
