"""The tests that a change affects."""

from tests.house.affected import affected
from tests.house.imports import ROOT, reduced


def test_a_module_has_the_tests_that_import_it() -> None:
    found = affected([ROOT / "controller/core/vm_images.py"])
    assert ROOT / "tests/unit/controller/test_vm_images.py" in found
    assert ROOT / "tests/unit/agents/test_findings.py" not in found


def test_a_test_is_about_itself() -> None:
    here = ROOT / "tests/unit/test_affected.py"
    assert here in affected([here])


def test_arrows_that_a_longer_way_implies_are_left_out() -> None:
    assert reduced({"a": {"b", "c"}, "b": {"c"}}) == {"a": {"b"}, "b": {"c"}}
