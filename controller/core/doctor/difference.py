"""A difference between the intended and the observed state."""

from dataclasses import dataclass

from controller.core.doctor.kinds import REMEDIES, DifferenceKind


@dataclass(frozen=True)
class Difference:
    """`kind` is the kind of difference, `where` names the place (`route server rs1`, `kernel of c2`), `subject` the
    thing, `expected` and `found` the two values, and `text` says it in a sentence that an engineer can act on."""

    kind: DifferenceKind
    where: str
    subject: str
    expected: str
    found: str
    text: str

    @property
    def remedy(self) -> str:
        """The advice on how to remove the difference."""
        return REMEDIES[self.kind]


def listed(items: object) -> str:
    """Return a set or list as text, `none` when empty."""
    if isinstance(items, set | frozenset | list | tuple):
        return ", ".join(sorted(map(str, items))) or "none"
    return str(items)
