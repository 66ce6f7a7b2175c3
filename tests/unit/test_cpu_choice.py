"""The CPU of a VM, and the cloudlets that can give it."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core import cpu_choice
from controller.core.cpu_baseline import lacking
from controller.core.cpu_choice import meant, refusal, settle
from controller.core.destinations import within_reach
from controller.core.intent import Vcp
from controller.core.refusals import Refused
from controller.wire.platforms import Platform
from tests.unit.policy.regions import cloudlet, joined, region
from tests.unit.test_cpu_baseline import FEATURES, KNOWN, first, host, sets

OLDER = host(first(16), KNOWN).model_copy(update={"models": None})
REPORTS = {"c1": host(first(16), KNOWN), "c2": host(first(12), KNOWN)}


def test_whose_choice_it_is() -> None:
    assert settle(None, "policy", "host", "c1", REPORTS) is None
    assert settle(None, "policy", "max", "c1", REPORTS) is None
    assert settle(None, "policy", "baseline", "c1", REPORTS) == "new"
    assert settle(None, "policy", "middle,-f01", "c1", REPORTS) == "middle,-f01"
    assert settle(None, "host", "baseline", "c1", REPORTS) is None
    assert settle(None, "baseline", "host", "c1", REPORTS) == "new"
    assert settle(None, "old", "baseline", "c1", REPORTS) == "old"


def test_once_settled_it_stays() -> None:
    assert settle("newest", "policy", "baseline", "c1", REPORTS) == "newest"
    with pytest.raises(Refused, match=r"c2 cannot give guests the CPU newest: it lacks f12.*`weft vm set --cpu`"):
        settle("newest", "policy", "baseline", "c2", REPORTS)
    with pytest.raises(Refused, match="c3 does not report which CPU models it can give guests"):
        settle("newest", "policy", "baseline", "c3", REPORTS)


def test_other_kinds_of_cloudlets_do_not_hold_it_down() -> None:
    """No VM can move there, whatever its CPU."""
    others = {"a1": host(first(4), KNOWN, vendor="A"), "t1": host(first(4), KNOWN, accelerator="tcg"), "old": OLDER}
    assert settle(None, "baseline", "host", "c1", REPORTS | others) == "new"
    assert settle(None, "baseline", "host", "a1", REPORTS | others) == "old"


@pytest.mark.parametrize("silent", [{}, {"c1": OLDER}])
def test_a_driver_that_reports_no_models_gives_its_own(silent: Mapping[str, Platform]) -> None:
    """The exception is a VM for which another CPU was requested."""
    for rule in ("baseline", "newest", "host"):
        assert settle(None, "policy", rule, "c1", silent) is None
    for choice in ("baseline", "newest"):
        with pytest.raises(Refused, match="c1 does not report which CPU models"):
            settle(None, choice, "host", "c1", silent)
    assert settle(None, "max", "host", "c1", silent) is None


def test_what_cannot_be_given_is_named_with_what_can() -> None:
    models = {"EPYC": first(4), "EPYC-Rome": first(8), "EPYC-Milan": first(12)}
    here = host(first(8), models)
    assert refusal("EPYC-Rome", "c1", here) is None and refusal("EPYC-Milan,-f08,-f09,-f10,-f11", "c1", here) is None
    assert refusal("epyc-rome", "c1", here) == "c1 knows no CPU model 'epyc-rome': did you mean 'EPYC-Rome'?"
    assert refusal("EPYC-Rmoe", "c1", here) == "c1 knows no CPU model 'EPYC-Rmoe': did you mean 'EPYC-Rome'?"
    assert refusal("baselin", "c1", here) == "c1 knows no CPU model 'baselin': did you mean 'baseline'?"
    assert (
        refusal("Cascadelake", "c1", here) == "c1 knows no CPU model 'Cascadelake'; the newest that it has is EPYC-Rome"
    )
    said = "c1 cannot give guests the CPU EPYC-Milan,-f08: it lacks f09, f10, f11; the newest that it has is EPYC-Rome"
    assert refusal("EPYC-Milan,-f08", "c1", here) == said
    wide = refusal("vast", "c1", host(frozenset(), {"vast": frozenset(FEATURES)}))
    assert wide is not None and wide.endswith("f07 and 8 more")


def test_the_policy_is_named_where_it_is_its_choice() -> None:
    with pytest.raises(Refused, match=r"^by the policy's migration.cpu, newest: c2 cannot give") as refused:
        settle(None, "policy", "newest", "c2", REPORTS)
    assert refused.value.kind == "conflict"
    with pytest.raises(Refused, match=r"^there is no CPU model that all of c1, c2 can give guests"):
        settle(None, "baseline", "host", "c1", {"c1": host(first(1), KNOWN), "c2": host(first(1), {"x": first(1)})})


def test_a_vm_may_move_within_its_pools_and_its_tenant() -> None:
    there = region(*(cloudlet(number) for number in (0, 1, 2, 4)), tenants=(None, None, None, "acme"))
    assert within_reach(there, "c0-lan") == {"c0"}
    for vcp, members in (("blue", "c0 c1 c4"), ("red", "c1 c2")):
        there = there.with_vcp(Vcp(vcp))
        for member in members.split():
            there = joined(there, vcp, f"{member}-lan")
    assert within_reach(there, "c0-lan") == {"c0", "c1"}
    assert within_reach(there, "c1-lan") == {"c0", "c1", "c2"}
    assert within_reach(there, "c4-lan") == {"c4"}


def test_words_misspelt() -> None:
    found = [meant(word) for word in ("basline", "Baseline", "base-line", "hots", "MAX")]
    assert found == ["baseline", "baseline", "baseline", "host", "max"]
    models = "486 Haswell Nehalem EPYC EPYC-Rome qemu64 kvm64 Skylake-Server Opteron_G5 n270 baseline host"
    assert [word for word in models.split() if meant(word)] == []


@given(st.lists(sets, min_size=1, max_size=5), st.sampled_from(["baseline", *KNOWN]))
def test_what_is_settled_can_be_given(hosts: list[frozenset[str]], choice: str) -> None:
    """The cloudlet at which the VM starts can give the CPU, and all cloudlets can give a baseline; the choice there is
    then final."""
    reports = {f"c{number}": host(has, KNOWN) for number, has in enumerate(hosts)}
    try:
        cpu = settle(None, choice, "host", "c0", reports)
    except Refused:
        return
    assert cpu is not None
    for name in reports if choice == "baseline" else ("c0",):
        assert lacking(reports[name], cpu) == [] and refusal(cpu, name, reports[name]) is None
        assert settle(cpu, "policy", "host", name, reports) == cpu
    assert cpu_choice.given(reports["c0"], cpu).cpu == cpu
