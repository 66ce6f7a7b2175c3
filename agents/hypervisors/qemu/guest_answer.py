"""The answers of a guest's agent (QEMU manual, "QEMU Guest Agent Protocol Reference"), read in one place for every
transport. The guest is not trusted: any other answer raises HypervisorError, with a short text. Pure."""

import base64
import binascii
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agents.answer import Unreadable, printable, read, shown
from agents.hypervisors.guest_json import guest_object
from agents.hypervisors.hypervisor import HypervisorError

LONGEST = 2**22
"""Most bytes in one answer: some 3 MiB of a program's output, in which `ss` lists thousands of connections."""

_TOLD = 300  # characters of a guest's own text about a failure

_Int = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Started(_Answer):
    """The answer to `guest-exec`."""

    pid: _Int


class Status(_Answer):
    """The answer to `guest-exec-status`. A program that was killed by a signal has no exit code."""

    exited: bool
    exitcode: _Int = -1
    out: str = Field("", alias="out-data")
    err: str = Field("", alias="err-data")


A = TypeVar("A", bound=_Answer)


def answer(command: str, text: str, model: type[A]) -> A:
    """Return the guest's answer to a command. Raises HypervisorError if it is an error, or has not the form of
    `model`."""
    try:
        found = guest_object(text, LONGEST)
    except HypervisorError as error:
        raise HypervisorError(f"to {command} the guest {error}") from None
    if "error" in found:
        refusal = found["error"]
        said = refusal.get("desc") if isinstance(refusal, dict) else refusal
        raise HypervisorError(
            f"the guest refused {command}: {printable(said, _TOLD) if isinstance(said, str) else shown(said)}"
        )
    try:
        return read(TypeAdapter(model), found.get("return"))
    except Unreadable as error:
        raise HypervisorError(f"the guest's answer to {command} {error}") from None


def output(ended: Status, said: str) -> str:
    """Return the output of a program. Raises HypervisorError if the program failed; `said` is its command line."""
    out, err = (_decoded(text, said) for text in (ended.out, ended.err))
    if ended.exitcode:
        last = (err or out).strip()[-_TOLD:]
        raise HypervisorError(f"{said!r} failed in the guest ({ended.exitcode}): {printable(last, _TOLD)}")
    return out


def synchronised(text: str, mark: int) -> bool:
    """Return whether this is the answer to `guest-sync-delimited` with that mark, not the rest of another answer."""
    try:
        found = guest_object(text, 1024).get("return")
    except HypervisorError:
        return False
    return type(found) is int and found == mark


def _decoded(text: str, said: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        raise HypervisorError(f"the output of {said!r} in the guest is not base64") from None
