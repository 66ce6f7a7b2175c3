"""The region that tests are checked against, and the form of their results."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from controller.core.intent import Intent, Vcp
from controller.core.neighbour_reports import Current, Pair
from controller.core.policy import Rules
from controller.core.yaml_document.document import Path


@dataclass(frozen=True)
class Measured:
    """The latest measurements of cloudlets about each other, read at the time `at`. Pairs that no test asks about may
    be missing."""

    at: datetime
    words: Mapping[Pair, Current]


_NOTHING = Measured(datetime.min.replace(tzinfo=UTC), {})


@dataclass(frozen=True)
class Region:
    """The region under test. `known` False: there is no inventory, only the policy."""

    intent: Intent
    measured: Measured = _NOTHING
    known: bool = True

    def must_have(self, noun: str, name: str, known: Collection[str], path: Path) -> None:
        """Raise Absent if the region is known and does not have the thing."""
        if self.known and name not in known:
            raise Absent(path, f"there is no {noun} '{name}'", name, known)


def alone(rules: Rules) -> Region:
    """Return the region that follows from the policy alone: pools with the members that it names."""
    pools = {
        name: Vcp(name, vcp.flavour, members=frozenset(vcp.members))
        for name, vcp in rules.vcps.items()
        if not vcp.automatic
    }
    return Region(Intent(vcps=pools, policy=rules), known=False)


@dataclass(frozen=True)
class Finding:
    """The result of a test, and its reasons."""

    passed: bool
    expected: str
    got: str
    why: tuple[str, ...] = ()


class Unknown(Exception):  # noqa: N818 - an answer, not a failure
    """Only the inventory can tell. The message says what is missing."""


class Absent(Exception):  # noqa: N818 - an answer, not a failure
    """The test names a thing that does not exist: `word`, which is none of those `known`. `path` is below the test's
    own."""

    def __init__(self, path: Path, message: str, word: str = "", known: Collection[str] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.word = word
        self.known = known
