"""A pair has the same number in both families, at home and at the remotes."""

from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st

from agents.multipath.address6 import address6
from controller.core.addresses import AddressPlan
from tests.unit.agents.desires import desired, dual, endpoint, remote

HOME = endpoint(1, **dual(1), remotes=[remote(endpoint(2, **dual(2))), remote(endpoint(3))])


@given(st.integers(0, 125), st.sampled_from(["md", "vm"]), st.sampled_from([1, 2]))
def test_as_the_plan_says(number: int, kind: str, site: int) -> None:
    four, both = (AddressPlan.of(*prefixes) for prefixes in ((f"10.{site}.0.0/24",), (f"2001:db8:{site}::/64",)))
    assert kind in ("md", "vm")
    half = 0 if kind == "md" else 1
    assert address6(desired(HOME), four.pair(number)[half]) == both.pair(number)[half]


def test_none_where_there_is_none() -> None:
    for text in ("10.3.0.5", "10.9.0.5", "2001:db8:1::5"):
        assert address6(desired(HOME), ip_address(text)) is None
    assert address6(None, ip_address("10.1.0.5")) is None
