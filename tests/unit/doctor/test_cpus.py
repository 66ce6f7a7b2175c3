"""The doctor names each VM whose settled CPU is missing at a cloudlet within its reach, and that cloudlet."""

from controller.core.doctor import DifferenceKind, Settled, compare_cpus
from controller.core.doctor.cpus import MOST
from controller.core.doctor.difference import Difference
from controller.wire.platforms import Platform
from tests.unit.test_cpu_baseline import KNOWN, first, host

VMS = Settled("c1", "c1-lan", "qemu", "newest", ("db", "web"))
NEWER, SAME = host(first(16), KNOWN), host(first(16), KNOWN)
POORER = host(first(4), KNOWN)


def found(reports: dict[str, Platform], *vms: Settled, reach: str = "c1 c2 c3") -> list[Difference]:
    return list(compare_cpus(vms or (VMS,), lambda _endpoint: reach.split(), {"qemu": reports}))


def test_the_cloudlet_that_lacks_it_is_named_with_the_vms() -> None:
    [one] = found({"c1": NEWER, "c2": SAME, "c3": POORER})
    assert (one.kind, one.subject, one.expected) == (DifferenceKind.VM_CPU, "db, web", "newest")
    assert one.text.startswith("db, web at c1-lan cannot move to c3: c3 cannot give guests the CPU newest: it lacks ")
    assert "weft vm set --cpu" in one.remedy


def test_all_is_well_where_it_can_go_or_nobody_knows_better() -> None:
    assert not found({"c1": NEWER, "c2": SAME})
    assert not found({"c1": NEWER, "c3": POORER}, reach="c1 c2"), "it is not within reach"
    assert not found({"c1": NEWER, "c3": POORER.model_copy(update={"models": None})})
    assert not found({"c1": NEWER, "c3": host(first(4), KNOWN, accelerator="tcg")}), "no VM goes there at all"
    assert not found({"c3": POORER}), "of its own cloudlet nobody has told"
    assert not list(compare_cpus([VMS], lambda _: ("c1", "c3"), {"other": {"c1": NEWER, "c3": POORER}}))


def test_its_own_cloudlet_may_have_lost_it() -> None:
    [one] = found({"c1": POORER})
    assert one.text.startswith("db, web at c1-lan cannot be started again: c1 cannot give")


def test_very_many_are_named_in_part() -> None:
    many = [Settled("c1", f"c1-lan{n:03}", "qemu", "newest", (f"v{n}",)) for n in range(2 * MOST)]
    assert len(found({"c1": NEWER, "c3": POORER}, *many)) == MOST
