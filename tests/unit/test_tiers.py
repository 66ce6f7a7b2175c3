"""The tests of a tier: each tier includes the one before it, and none lacks a kind of test."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import Tier

TESTS = """
import pytest
def test_plain(): pass
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.lab
def test_lab(): pass
@pytest.mark.lab
@pytest.mark.smoke
def test_smoke(): pass
@pytest.mark.lab
@pytest.mark.nightly
def test_nightly(): pass
"""
MARKERS = "[pytest]\nmarkers =\n  lab: .\n  smoke: .\n  slow: .\n  nightly: .\n"
HELD = {
    Tier.SMOKE: {"test_plain", "test_smoke"},
    Tier.ALL: {"test_plain", "test_slow", "test_lab", "test_smoke"},
    Tier.NIGHTLY: {"test_plain", "test_slow", "test_lab", "test_smoke", "test_nightly"},
}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tier", Tier)
def test_a_tier_holds(tmp_path: Path, tier: Tier) -> None:
    (tmp_path / "pytest.ini").write_text(MARKERS)
    (tmp_path / "conftest.py").write_text(
        "from tests.conftest import pytest_addoption, pytest_collection_modifyitems\n"
    )
    (tmp_path / "test_it.py").write_text(TESTS)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--tier",
        tier,
        "-v",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        str(tmp_path),
    ]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {line.split("::")[1].split()[0] for line in ran.stdout.splitlines() if "PASSED" in line} == HELD[tier]


def test_every_subsystem_has_a_smoke_test() -> None:
    """Each file of lab tests with a subsystem of its own has a test that `make test` runs."""
    without = {
        path.stem.removeprefix("test_")
        for path in (ROOT / "tests" / "integration").glob("test_*.py")
        if "pytest.mark.smoke" not in path.read_text() and "test_qemu_driver import" not in path.read_text()
    }
    assert without == WITHOUT, "mark one of its tests `smoke`, or say here that others stand for it"


WITHOUT = {
    *("agent_ipsec_moves", "agent_ipsec_pool", "agent_ipsec_rotation", "region_ipsec_moves", "region_rotation"),
    *(
        "agent_moved_vm",
        "agent_multipath_modes",
        "agent_floods",
        "agent_pool6",
        "agent_sources_leases",
        "guest_switch",
        "guest_work",
    ),
    "upgrade_between_releases",
    *(
        "region_alterations",
        "region_keys",
        "region_move_evpn",
        "region_neighbours",
        "region_sightings",
        "region_twenty",
        "qemu_postcopy",
        "container_faults",
        "container_tracking",
        "region_container",
    ),
    *("region_move_ahead", "thin_line_faults", "install", "install_releases", "images", "ansible_roles"),
    *("charon_unit", "gobgpd_api", "lab_charon", "lab_device", "lab_mptcp", "lab_process", "lab_wiretap"),
}
"""Files whose subsystem has a smoke test in another file."""
