"""JSON that a guest wrote. A guest is foreign: its owner says what the programs in it answer. Pure."""

from typing import Any

from agents.answer import Unreadable, document, shown
from agents.hypervisors.hypervisor import HypervisorError

SIGNS = 512
"""Brackets, braces, commas and quotes in one answer, of each: no answer that is asked for has half as many. That bounds
its depth, and the objects that its text can become, before it is read."""


def guest_object(text: str, longest: int) -> dict[str, Any]:
    """Return the object that the text is, of at most `longest` characters. Raises HypervisorError whatever else the
    guest wrote: its text continues a sentence that ends with "the guest"."""
    if len(text) > longest:
        raise HypervisorError(f"answered {len(text)} characters, and {longest} are taken")
    if any(text.count(sign) > SIGNS for sign in '[{,"'):
        raise HypervisorError(f"answered {shown(text)}, which has more than {SIGNS} parts")
    try:
        found = document(text, longest)
    except Unreadable:
        raise HypervisorError(f"answered {shown(text)}, which is no JSON") from None
    if not isinstance(found, dict):
        raise HypervisorError(f"answered {shown(text)}, which is no object")
    return found
