"""What tests are held against, and how what was found is told."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from controller.core.intent import Intent, Vcp
from controller.core.neighbour_reports import Current, Pair
from controller.core.policy import Rules
from controller.core.policy.document import Path


@dataclass(frozen=True)
class Measured:
    """The last word of cloudlets on each other, looked at `at` that time. What no test asks about need not be there."""

    at: datetime
    words: Mapping[Pair, Current]


_NOTHING = Measured(datetime.min.replace(tzinfo=UTC), {})


@dataclass(frozen=True)
class Region:
    """`known` False: no inventory, just the policy's words."""

    intent: Intent
    measured: Measured = _NOTHING
    known: bool = True

    def must_have(self, noun: str, name: str, known: Collection[str], path: Path) -> None:
        """Raises Absent where the region is known and has no such thing."""
        if self.known and name not in known:
            raise Absent(path, f"there is no {noun} '{name}'", name, known)


def alone(rules: Rules) -> Region:
    """What the policy says by itself: pools with the members that it names."""
    pools = {
        name: Vcp(name, vcp.flavour, members=frozenset(vcp.members))
        for name, vcp in rules.vcps.items()
        if not vcp.automatic
    }
    return Region(Intent(vcps=pools, policy=rules), known=False)


@dataclass(frozen=True)
class Finding:
    """What came out of a test, and why."""

    passed: bool
    expected: str
    got: str
    why: tuple[str, ...] = ()


class Unknown(Exception):  # noqa: N818 - an answer, not a failure
    """Only the inventory can tell. The message says what is missing."""


class Absent(Exception):  # noqa: N818 - an answer, not a failure
    """The test names what does not exist: `word`, which is none of those `known`. `path` is below the test's own."""

    def __init__(self, path: Path, message: str, word: str = "", known: Collection[str] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.word = word
        self.known = known
