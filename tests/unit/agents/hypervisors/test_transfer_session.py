"""The options of a session of weft-transfer."""

from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.target import HostPort
from agents.hypervisors.weft_transfer import Session

PLAIN: dict[str, Any] = {"move": "m1", "place": HostPort("192.0.2.1", 49152), "mirror": Path("mirror")}


@pytest.mark.parametrize(
    ("given", "sparing"),
    [({}, True), ({"keep": True}, False), ({"disk": 1 << 20}, False), ({"trees": ("upper", "memory")}, False)],
)
def test_only_what_goes_once_is_spared(given: dict[str, Any], sparing: bool) -> None:
    """A mirror that is kept, follows writes, or is compared with the next round has all pages."""
    assert ("--sparing" in Session(**PLAIN, **given).sending()) is sparing


def test_both_ends_have_the_same_trees() -> None:
    options = Session(**PLAIN, trees=("upper", "memory")).options()
    assert options[options.index("--trees") + 1] == "upper,memory"
    assert "--disk" not in options and "--clear" in options
