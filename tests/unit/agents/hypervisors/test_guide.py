"""The driver in the author's guide keeps the rules, and the conformance tests detect a driver that breaks one."""

import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.conformance.bench import OURS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
GUIDE = ROOT / "docs" / "contribute" / "notebook"


def conformance(directory: Path, old: str = "", new: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the guide's own command, with one change in its driver."""
    for file in GUIDE.glob("*.py"):
        text = file.read_text()
        if old and file.name == "notebook.py":
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (directory / file.name).write_text(text)
    path = os.pathsep.join((str(directory), str(ROOT), os.environ.get("PYTHONPATH", "")))
    return subprocess.run(
        [sys.executable, "-m", "tests.conformance", "notebook_bench:bench", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_guides_driver_keeps_the_rules(tmp_path: Path) -> None:
    done = conformance(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("if not await self.arrived(name, move) or", "if", "test_what_has_not_arrived_is_not_activated"),
        ('self.note(name, condition="moved")', "pass", "test_every_step_leaves_what_it_says"),
        (
            'page.get("coming") == move and not page["leaving"]:',
            'page.get("coming"):',
            "test_another_moves_abort_touches_nothing",
        ),
        (
            '            self.note(name, condition="running", leaving=None)',
            "            pass",
            "test_aborted_after_any",
        ),
        ('in ("running", "waiting"):', 'in ("waiting",):', "test_what_runs_is_not_discarded"),
    ],
)
def test_a_broken_rule_is_found(tmp_path: Path, old: str, new: str, found: str) -> None:
    done = conformance(tmp_path, old, new)
    assert done.returncode == 1 and found in done.stdout, done.stdout


def test_a_bench_has_to_be_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 4
    assert done.stderr.startswith("usage: python -m tests.conformance simulated|qemu|libvirt|container|MODULE:NAME")


def test_each_of_our_drivers_has_a_bench() -> None:
    """`make conformance DRIVER=…` knows all drivers that Weft ships; it runs nightly for those that the suite leaves
    out."""
    assert set(OURS) == set(entry_points(group="weft.hypervisors").names)
    for bench in OURS.values():
        module, _, name = bench.partition(":")
        assert hasattr(import_module(module), name)
    nightly = (ROOT / "tests" / "nightly").read_text()
    assert f"for driver in {' '.join(driver for driver in OURS if driver != 'simulated')}; do" in nightly
