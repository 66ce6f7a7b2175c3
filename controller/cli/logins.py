"""The user's logins: tokens by controller, in a file below XDG_STATE_HOME that only the user can read. A token is sent
only to the controller for which it was fetched."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controller.cli.failures import Failure
from controller.cli.grants import Issuer
from controller.cli.state import state_file

EARLY = 30.0
"""Seconds before its end at which a token is refreshed."""


@dataclass(frozen=True)
class Login:
    """A login at one controller. `token` authenticates requests to it; `expires` is in seconds since 1970."""

    issuer: str
    client: str
    token: str
    expires: float
    refresh: str | None = None

    @classmethod
    def of(cls, issuer: str, client: str, said: dict[str, Any], before: "Login | None" = None) -> "Login":
        """Return the login from an issuer's answer: its access token if that is a JWT, else the ID token. Raises
        Failure."""
        access, identity = str(said.get("access_token", "")), said.get("id_token")
        token = access if access.count(".") == 2 else str(identity or "")
        if token.count(".") != 2:
            raise Failure(f"{issuer} gives no JSON Web Token")
        refresh = said.get("refresh_token", before.refresh if before else None)
        try:
            seconds = float(said.get("expires_in", 300))
        except (TypeError, ValueError):
            raise Failure(f"{issuer} does not say in seconds how long its token is good for") from None
        return cls(issuer, client, token, time.time() + seconds, refresh)


def token(url: str) -> str:
    """Return the token for that controller, refreshed if it is about to end; empty without a login there. Raises
    Failure."""
    if url not in _read():
        return ""
    with _alone():
        kept = _read()
        login = kept.get(url)
        if login is None:
            return ""
        if login.expires - time.time() > EARLY:
            return login.token
        said = Issuer(login.issuer, login.client).refresh(login.refresh) if login.refresh else None
        if said is None:
            raise Failure(f"your login at {url} is over: weft login --issuer {login.issuer} --client {login.client}")
        login = Login.of(login.issuer, login.client, said, login)
        _write(kept | {url: login})
        return login.token


def keep(url: str, login: Login) -> None:
    """Store the login for that controller."""
    with _alone():
        _write(_read() | {url: login})


def forget(url: str) -> Login | None:
    """Remove the login at that controller, and return it; None if there was none."""
    with _alone():
        kept = _read()
        if gone := kept.pop(url, None):
            _write(kept)
        return gone


def _path() -> Path:
    return state_file("logins.json")


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock on the logins. A refresh token is valid once, so no two commands may use the same."""
    path = _path().with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _read() -> dict[str, Login]:
    try:
        return {url: Login(**login) for url, login in json.loads(_path().read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(kept: dict[str, Login]) -> None:
    """Write the logins to a new file that no other user could ever read."""
    part = _path().with_suffix(f".{os.getpid()}")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({url: asdict(login) for url, login in kept.items()}, file)
    part.replace(_path())
