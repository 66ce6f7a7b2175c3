"""JSON that a guest wrote. It is not trusted: the guest's owner controls the programs that answer. Pure."""

from typing import Any

from agents.answer import Unreadable, document, shown
from agents.hypervisors.hypervisor import HypervisorError

SIGNS = 512
"""Most brackets, braces, commas and quotes, of each kind, in one answer. No expected answer has half as many. This
limits the depth and the number of objects before the text is parsed."""


def guest_object(text: str, longest: int) -> dict[str, Any]:
    """Return the object in `text`, of at most `longest` characters. Raises HypervisorError if the guest wrote anything
    else: its text continues a sentence that ends with "the guest"."""
    if len(text) > longest:
        raise HypervisorError(f"answered {len(text)} characters, and {longest} are taken")
    if any(text.count(sign) > SIGNS for sign in '[{,"'):
        raise HypervisorError(f"answered {shown(text)}, which has more than {SIGNS} parts")
    try:
        found = document(text, longest)
    except Unreadable:
        raise HypervisorError(f"answered {shown(text)}, which is not JSON") from None
    if not isinstance(found, dict):
        raise HypervisorError(f"answered {shown(text)}, which is not an object")
    return found
