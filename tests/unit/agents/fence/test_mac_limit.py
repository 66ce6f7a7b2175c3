"""The budgets as text. What they do is shown with real frames in tests/integration/test_agent_mac_limit.py."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agents.fence import Fence, mac_limit
from agents.fence.mac_limit import AGEING, BURST, RATE

FENCES = [
    Fence("lan1", "pw1.*", "10.1.0.0/24", ports=("md2", "md1"), learns=True),
    Fence("lan2", "vx2", "10.2.0.0/24", ports=("md3",)),
    Fence("lan3", "vx3", "10.3.0.0/24"),
]


@given(st.permutations(FENCES))
def test_equal_sets_give_equal_text(fences: list[Fence]) -> None:
    assert mac_limit(fences) == mac_limit(FENCES)


def test_no_fences_leave_no_table() -> None:
    assert mac_limit([]).splitlines() == ["table bridge weft-macs", "delete table bridge weft-macs"]


def test_what_was_counted_is_not_taken_out() -> None:
    text = mac_limit(FENCES)
    assert "delete" not in text and "flush set" not in text and "flush chain bridge weft-macs prerouting" in text


def test_every_drop_has_a_counter_and_every_port_a_budget() -> None:
    text = mac_limit(FENCES)
    used = re.findall(r"^\t\tiifname (.*) update @newcomers .* counter name (\S+) drop$", text, re.M)
    assert used == [
        ('{ "md1", "md2" }', "lan1.crowd-at"),
        ('"pw1.*"', "lan1.crowd-in"),
        ('{ "md3" }', "lan2.crowd-at"),
    ]
    assert {name for _, name in used} <= set(re.findall(r"counter (\S+) \{ \}", text))
    assert text.count(f"rate over {RATE}/second burst {BURST} packets") == 2


def test_a_port_is_known_for_as_long_as_its_bridge_knows_it() -> None:
    assert f"type ifname . ether_addr; size 2097152; timeout {AGEING}s;" in mac_limit(FENCES)
    assert BURST + RATE * AGEING < 10_000
