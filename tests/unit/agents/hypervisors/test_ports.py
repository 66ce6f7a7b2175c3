"""The ports at which machines arrive, as the drivers' options set them."""

import pytest

from agents.hypervisors.hypervisor import Refused
from agents.hypervisors.ports import arrivals, ports


def test_a_driver_waits_at_the_usual_ports_or_its_own() -> None:
    assert ports({}) == range(49152, 49216)
    assert ports({"ports": "5000-5000"}) == range(5000, 5001)
    assert ports({"ports": "1024-65535"}) == range(1024, 65536)


@pytest.mark.parametrize("wrong", ["", "5000", "5001-5000", "0-10", "1023-5000", "5000-65536", "a-b", "1-2-3"])
def test_what_is_no_range_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(Refused, match=f"option 'ports': '{wrong}' is not a range such as 49152-49215, from 1024 on"):
        ports({"ports": wrong})


def test_all_that_anybody_could_wait_at() -> None:
    """A driver without configuration uses the usual ports; another driver's `ports` option may have another meaning."""
    usual = range(49152, 49216)
    assert arrivals([]) == (usual,)
    mine = {"ports": "5000-5010"}
    assert arrivals([mine, {}, mine, {"ports": "usb"}, {"colour": "red"}]) == (range(5000, 5011), usual)
