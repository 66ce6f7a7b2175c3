"""The generation of an edit, and the parts of the region that it concerns. Pure."""

from dataclasses import replace

from controller.core.affected import concerned
from controller.core.intent import Intent
from controller.core.rulesets import operations
from controller.wire.rulesets import Operation


def numbered(
    old: Intent, new: Intent, asn: int, *, anyway: bool = False
) -> tuple[Intent, list[Operation], frozenset[str]]:
    """Return the edited intent, its operations and the concerned cloudlets. The intent gets the next generation if the
    edit makes a difference to a route server or an agent, or if `anyway` is set."""
    ops, who = operations(old, new, asn), concerned(old, new)
    if not ops and not who and not anyway:
        return new, [], who
    number = old.generation + 1
    there = {name: replace(new.cloudlets[name], version=number) for name in who if name in new.cloudlets}
    return new.with_cloudlets(there).but(generation=number), ops, who
