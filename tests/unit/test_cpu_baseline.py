"""The CPU that several cloudlets can give guests."""

from collections.abc import Mapping
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from controller.core.cpu_baseline import MOST_REMOVED, baseline, baselines, lacking
from controller.wire.platforms import CpuModel, Platform

FEATURES = [f"f{number:02}" for number in range(16)]
MODELS = {"old": 4, "middle": 8, "new": 12, "newest": 16}


def host(
    features: frozenset[str], models: Mapping[str, frozenset[str]], accelerator: str = "kvm", vendor: str = "I"
) -> Platform:
    """Return the platform of a cloudlet whose processors have these features."""
    told = {name: CpuModel(features=len(has), missing=sorted(has - features)) for name, has in sorted(models.items())}
    return Platform(version="1", board="b", accelerator=accelerator, cpu="host", vendor=vendor, models=told)


def first(count: int) -> frozenset[str]:
    return frozenset(FEATURES[:count])


KNOWN = {name: first(count) for name, count in MODELS.items()}


def shown(cpu: str, models: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the features that a guest with that CPU sees if no feature is missing."""
    name, *removed = cpu.split(",")
    return models[name] - {word.removeprefix("-") for word in removed}


def test_the_newest_that_all_can_run() -> None:
    assert baseline({"c1": host(first(16), KNOWN)}) == "newest"
    assert baseline({"c1": host(first(16), KNOWN), "c2": host(first(12), KNOWN)}) == "new"
    odd = first(12) - {"f02"}
    assert baseline({"c1": host(first(16), KNOWN), "c2": host(odd, KNOWN)}) == "new,-f02"
    assert baseline({"c1": host(first(16), KNOWN), "c2": host(first(16), {"old": first(4)})}) == "old"
    assert baseline({"c1": host(first(16), KNOWN), "c2": host(first(16), {"other": first(4)})}) is None
    assert baseline({"c1": host(first(16), KNOWN), "c2": host(first(16), {})}) is None
    assert baseline({}) is None


def test_a_model_that_lacks_too_much_is_none() -> None:
    models = {"vast": frozenset(FEATURES), "small": first(3)}
    assert baseline({"c1": host(first(16 - MOST_REMOVED), models)}) == "vast," + ",".join(
        f"-{name}" for name in FEATURES[16 - MOST_REMOVED :]
    )
    assert baseline({"c1": host(first(15 - MOST_REMOVED), models)}) == "small"


def test_who_holds_it_down() -> None:
    """Equal cloudlets count together, and each kind of cloudlet for itself."""
    weak = {name: host(first(8), KNOWN) for name in ("c3", "c4")}
    strong = {name: host(first(12), KNOWN) for name in ("c1", "c2")}
    others = {"a1": host(first(4), KNOWN, vendor="A"), "t1": host(first(16), KNOWN, accelerator="tcg")}
    silent = {"old": host(first(16), KNOWN).model_copy(update={"models": None})}
    amd, intel, tcg = baselines(silent | weak | others | strong)
    assert (intel.cpu, intel.features, intel.members) == ("middle", 8, ("c1", "c2", "c3", "c4"))
    assert [(hold.members, hold.cpu) for hold in intel.held_down] == [(("c3", "c4"), "new")]
    assert (amd.cpu, amd.held_down, tcg.cpu, tcg.held_down) == ("old", (), "newest", ())


def test_what_a_cloudlet_lacks_of_a_cpu() -> None:
    weak = host(first(8), KNOWN)
    assert lacking(weak, "middle") == [] and lacking(weak, "unknown") is None
    assert lacking(weak, "new") == FEATURES[8:12]
    assert lacking(weak, "new,-f08,+f09,-f11") == ["f09", "f10"]
    assert lacking(weak.model_copy(update={"models": None}), "new") is None


sets = st.frozensets(st.sampled_from(FEATURES))


@given(
    st.dictionaries(st.sampled_from(sorted(MODELS)), sets, min_size=1),
    st.lists(st.tuples(sets, st.frozensets(st.sampled_from(sorted(MODELS)))), min_size=1, max_size=5),
    st.randoms(),
)
def test_all_can_run_it(
    models: dict[str, frozenset[str]], hosts: list[tuple[frozenset[str], frozenset[str]]], random: Random
) -> None:
    """Each cloudlet has all features of the CPU; the order does not matter; with fewer cloudlets the CPU never gets
    worse."""
    reports = {
        f"c{number}": host(has, {name: of for name, of in models.items() if name not in unknown})
        for number, (has, unknown) in enumerate(hosts)
    }
    cpu = baseline(reports)
    shuffled = list(reports.items())
    random.shuffle(shuffled)
    assert baseline(dict(shuffled)) == cpu
    (found,) = baselines(dict(shuffled))
    assert found.cpu == cpu
    if cpu is None:
        return
    assert found.features == len(shown(cpu, models))
    for number, (has, _) in enumerate(hosts):
        assert shown(cpu, models) <= has
        assert lacking(reports[f"c{number}"], cpu) == []
    for name in reports if len(reports) > 1 else ():
        fewer = baseline({other: report for other, report in reports.items() if other != name})
        assert fewer is not None and len(shown(fewer, models)) >= len(shown(cpu, models))
