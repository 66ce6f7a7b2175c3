"""The run of all tests of a policy, one after the other; each runs whatever the result of the others."""

from dataclasses import dataclass
from enum import StrEnum

from controller.core.policy import Policy
from controller.core.policy.promises import AddressTest, MoveTest, NeighbourTest, PathTest, PolicyTest
from controller.core.policy.strangers import SUGGESTIONS
from controller.core.promises import addresses, moves, neighbours, paths
from controller.core.promises.region import Absent, Finding, Region, Unknown
from controller.core.words import closest
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError


class Outcome(StrEnum):
    """`wrong`: the test names a thing that does not exist, or has no answer. `skipped`: only a region can tell."""

    PASSED = "passed"
    FAILED = "failed"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """The result of one test. `said` is the result as a sentence at its place in the file."""

    name: str
    outcome: Outcome
    said: DocumentError
    expected: str = ""
    got: str = ""
    why: tuple[str, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether the policy must not come into force."""
        return self.outcome in (Outcome.FAILED, Outcome.WRONG)


def run(policy: Policy, region: Region) -> tuple[Result, ...]:
    """Return a result for each test, in the order of the file. The region's intent is already under `policy`: tests
    check the future state, not the present one."""
    results: list[Result] = []
    wrong = 0
    for i, test in enumerate(policy.rules.tests):
        results.append(_result(policy, region, i, test, wrong < SUGGESTIONS))
        wrong += results[-1].outcome is Outcome.WRONG
    return tuple(results)


def _result(policy: Policy, region: Region, i: int, test: PolicyTest, suggest: bool) -> Result:
    at: Path = ("tests", i)
    try:
        found = _prove(test, region)
    except Absent as absent:
        hint, suggestion = closest(absent.word, absent.known, len(absent.known)) if suggest else ("", "")
        message = absent.message + hint
        said = policy.error((*at, *absent.path), f"test '{test.name}' is wrong: {message}", suggestion)
        return Result(test.name, Outcome.WRONG, said, why=(message,))
    except Unknown as unknown:
        said = policy.error(at, f"test '{test.name}' was skipped: {unknown}")
        return Result(test.name, Outcome.SKIPPED, said, why=(str(unknown),))
    if found.passed:
        said = policy.error(at, f"test '{test.name}' passed: {found.got}")
        return Result(test.name, Outcome.PASSED, said, found.expected, found.got, found.why)
    because = f" ({'; '.join(found.why)})" if found.why else ""
    said = policy.error(at, f"test '{test.name}' failed: expected {found.expected}, got {found.got}{because}")
    return Result(test.name, Outcome.FAILED, said, found.expected, found.got, found.why)


def _prove(test: PolicyTest, region: Region) -> Finding:
    match test:
        case PathTest():
            return paths.prove(test, region)
        case AddressTest():
            return addresses.prove(test, region)
        case NeighbourTest():
            return neighbours.prove(test, region)
        case MoveTest():
            return moves.prove(test, region)
