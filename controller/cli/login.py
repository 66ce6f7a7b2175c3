"""`weft login` and `weft logout`: users whom an OpenID Connect issuer authenticates."""

import sys
from contextlib import suppress
from typing import Annotated

import typer

from controller.cli import logins
from controller.cli.cells import plain
from controller.cli.destination import destination
from controller.cli.failures import Failure
from controller.cli.grants import Issuer
from controller.cli.logins import Login
from controller.cli.output import done

IssuerUrl = Annotated[
    str, typer.Option("--issuer", metavar="URL", envvar="WEFT_OIDC_ISSUER", help="Your OpenID Connect issuer.")
]
ClientName = Annotated[
    str, typer.Option("--client", metavar="ID", envvar="WEFT_OIDC_CLIENT", help="The client id of weft there.")
]


def login(issuer: IssuerUrl, client: ClientName = "weft") -> None:
    """Log in, with a browser on any machine. The tokens are kept for this controller, and refreshed automatically."""
    there = Issuer(issuer, client)
    code = there.begin()
    where, word = plain(code.complete or code.verification_uri), plain(code.user_code)
    print(f"open {where} in a browser, and check that the code is {word}", file=sys.stderr, flush=True)
    made = Login.of(issuer, client, there.wait(code))
    url = destination().url
    logins.keep(url, made)
    done({"controller": url, "issuer": issuer}, f"logged in at {url}")


def logout() -> None:
    """Forget the tokens for this controller, and revoke the refresh token at the issuer."""
    url = destination().url
    gone = logins.forget(url)
    if gone is None:
        raise Failure(f"no login is stored for {url}")
    if gone.refresh:
        with suppress(Failure):
            Issuer(gone.issuer, gone.client).revoke(gone.refresh)
    done({"controller": url}, f"logged out at {url}")
