"""Faults during moves, one of each kind at the most critical step, with real parts; `make faults` tries all."""

from collections.abc import Iterator

import pytest

from lab.faults.bed import Bed
from lab.faults.cases import CHOSEN, chosen
from lab.faults.trial import put

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Bed.made() as made:
        yield made


AT_EACH_STEP = {
    "destination-full@prepare",
    "kill-source-qemu@memory",
    "kill-source-agent@switchover",
    "kill-destination-agent@activate",
    "device-gone@leave",
}
"""A fault at each kind of step of a move, for `make test`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.smoke) if name in AT_EACH_STEP else name for name in CHOSEN]
)
def test_a_fault(bed: Bed, name: str) -> None:
    found = put(bed, chosen(name)[0])
    assert found.wrong == [], found
