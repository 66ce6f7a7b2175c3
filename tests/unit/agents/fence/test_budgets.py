"""The text of the budgets. tests/integration/test_agent_budgets.py shows their effect on real frames."""

import re
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from agents.fence import Fence, budgets
from agents.fence.budgets import ALL, MACS, NEIGHBOURS, REASONS
from agents.kernel.lan import NEIGHBOURS as NEIGHBOUR_TABLE
from controller.wire.access import Impostor

FENCES = [
    Fence("lan1", "pw1.*", "10.1.0.0/24", ports=("md2", "md1"), learns=True),
    Fence("lan2", "vx2", "10.2.0.0/24", ports=("md3",)),
    Fence("lan3", "vx3", "10.3.0.0/24"),
]


@given(st.permutations(FENCES))
def test_equal_sets_give_equal_text(fences: list[Fence]) -> None:
    assert budgets(fences) == budgets(FENCES)


def test_no_fences_leave_no_table() -> None:
    assert budgets([]).splitlines() == ["table bridge weft-budgets", "delete table bridge weft-budgets"]


def test_what_was_counted_is_not_taken_out() -> None:
    text = budgets(FENCES)
    assert "delete" not in text and "flush chain bridge weft-budgets macs" in text
    assert re.findall("flush set .*", text) == [f"flush set bridge weft-budgets onlink{version}" for version in "46"]


def test_every_drop_has_a_counter_and_every_port_a_budget() -> None:
    text = budgets(FENCES)
    declared = set(re.findall(r"counter (\S+) \{ \}", text))
    for budget in ALL:
        used = re.findall(rf"^\t\tiifname (.*) update @new-{budget.name} .* counter name (\S+) drop$", text, re.M)
        learned = [('"pw1.*"', f"lan1.{budget.reason}-in")]
        others = [('"vx2"', f"lan2.{budget.reason}-in"), ('"vx3"', f"lan3.{budget.reason}-in")]
        at = [('{ "md1", "md2" }', f"lan1.{budget.reason}-at"), ('{ "md3" }', f"lan2.{budget.reason}-at")]
        assert sorted(used) == sorted(at + learned + (others if budget is not MACS else []))
        assert {name for _, name in used} <= declared


def test_what_is_dropped_is_told() -> None:
    assert {f"{reason}{way}" for reason in REASONS for way in ("", "-in")} <= set(get_args(Impostor))


def test_no_few_ports_fill_a_table() -> None:
    """Every port uses its whole budget. IPv6 has two entries for an address that it looks for."""
    for names in (("senders", "sources4", "sought4"), ("advertisers", "sources6", "sought6", "sought6")):
        most = sum(budget.most for name in names for budget in NEIGHBOURS if budget.name == name)
        assert most * 14 < NEIGHBOUR_TABLE
    assert MACS.most < 10_000


def test_every_prefix_on_the_link_is_looked_for_within_a_budget() -> None:
    fence = Fence("lan1", "pw1.*", "10.1.0.0/24", "2001:db8:1::/64", remotes=("10.2.0.0/24", "2001:db8:2::/64"))
    text = budgets([fence])
    assert "onlink4 { 10.1.0.0/24, 10.2.0.0/24 }" in text
    assert "onlink6 { 2001:db8:1::/64, 2001:db8:2::/64, fe80::/10 }" in text
