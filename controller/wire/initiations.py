"""Initiations: a VM starts anew at another cloudlet, instead of moving there (Teka, section V: service re-initiation).

One act is the initiation's own: `initiate`, of the destination. The VM's machine is booted there anew, on the vNIC that
does not serve, beside the one that runs at the source; it is done when the service answers. Three more acts of moves
(controller/wire/moves.py) mean something else in an order that has an `initiation`:

leave       (source)      no connection uses the old address any more, or its linger time is over; its vNIC is down
discard     (source)      nothing is left of the machine, which may still run; its old address is no longer leased
abort       (destination) nothing is left of the machine that this initiation started there, and of its lease
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from controller.wire.model import Message

CHECK_PATTERN = r"^(tcp:[1-9][0-9]{0,4}|http:[1-9][0-9]{0,4}(/[!-~]*)?)?$"
"""A check; empty: none."""

PROGRAM_PATTERN = r"^(/[!-~]+)?$"
"""The path of a program; empty: none."""

MOST = 200
"""Most characters of a check, and of a path."""


class Initiation(Message):
    """How a VM starts anew. `check` tells whether its service answers: `tcp:PORT` takes a connection, `http:PORT/PATH`
    answers a GET with a status below 400; without one, a machine that runs and has leased its address serves.
    `handover` is a program in the new machine that brings the application's state: after the check it is run with the
    old machine's address and its own."""

    check: Annotated[str, Field(pattern=CHECK_PATTERN, min_length=1, max_length=MOST)] | None = None
    handover: Annotated[str, Field(pattern=PROGRAM_PATTERN, min_length=1, max_length=MOST)] | None = None

    @model_validator(mode="after")
    def _has_a_port(self) -> Self:
        if self.check is not None and port(self.check) > 65535:
            raise ValueError(f"check {self.check}: the highest port is 65535")
        return self


def port(check: str) -> int:
    """Return the port of a check."""
    return int(check.split(":", 1)[1].split("/", 1)[0])


def web_path(check: str) -> str | None:
    """Return the path that a check asks for by HTTP; None if it only connects."""
    scheme, _, rest = check.partition(":")
    return "/" + rest.partition("/")[2] if scheme == "http" else None
