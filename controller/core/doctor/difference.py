"""A difference between the intended and the observed state."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from controller.core.doctor.kinds import REMEDIES, DifferenceKind


@dataclass(frozen=True, slots=True)
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


def few_of_each_kind(differences: Iterable[Difference], most: int) -> tuple[list[Difference], Counter[DifferenceKind]]:
    """Return the first `most` differences of each kind, in their order, and the numbers of all by kind. One fault may
    cause as many differences as there are routes, and must not bury the others."""
    counts: Counter[DifferenceKind] = Counter()
    few = []
    for one in differences:
        counts[one.kind] += 1
        if counts[one.kind] <= most:
            few.append(one)
    return few, counts


def listed(items: object) -> str:
    """Return a set or list as text, `none` when empty."""
    if isinstance(items, set | frozenset | list | tuple):
        return ", ".join(sorted(map(str, items))) or "none"
    return str(items)
