"""The three tiers of the suite: `make test`, `make test-all`, `make nightly`; `pytest --tier smoke` runs the first."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import pytest


class Tier(StrEnum):
    """How much of the suite a run includes. Each tier includes the one before it."""

    SMOKE = "smoke"
    ALL = "all"
    NIGHTLY = "nightly"


def add_option(parser: pytest.Parser) -> None:
    """Add `--tier` to pytest's options; without it pytest runs `all`."""
    meaning = "smoke: `make test`; all: `make test-all`; nightly: `make nightly`, all on both databases"
    parser.addoption("--tier", type=Tier, default=Tier.ALL, choices=list(Tier), help=meaning)


def tier(config: pytest.Config) -> Tier:
    """Return the tier that this run is for."""
    chosen: Tier = config.getoption("--tier")
    return chosen


def left_out(of: Tier, item: pytest.Item) -> bool:
    """Tell whether a test belongs to a later tier, by its markers: `smoke` puts a lab test into the first tier, `slow`
    keeps another test out of it, `nightly` is for the last tier alone."""
    marked = {marker.name for marker in item.iter_markers()}
    if "nightly" in marked:
        return of is not Tier.NIGHTLY
    return of is Tier.SMOKE and ("slow" in marked or ("lab" in marked and "smoke" not in marked))


def leave(config: pytest.Config, items: list[pytest.Item], left: set[pytest.Item]) -> None:
    """Take tests out of a run; pytest counts them as deselected."""
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def smoke_first(number: int, values: Iterable[Any]) -> list[Any]:
    """Return a test's parameters: the first tier runs it with the first `number` of them, later ones with all."""
    found = list(values)
    late = (one if isinstance(one, tuple) else (one,) for one in found[number:])
    return found[:number] + [pytest.param(*one, marks=pytest.mark.slow) for one in late]
