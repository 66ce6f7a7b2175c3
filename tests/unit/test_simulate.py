"""The simulation, as `make simulate` starts it, of a region small enough to take seconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulate.page import ABOUT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_tiny_region(tmp_path: Path, database: str) -> None:
    output, page = tmp_path / "build" / "figures.json", tmp_path / "scale.md"
    page.write_text("old\n\n## What it means\n\nis kept.\n")
    command = [sys.executable, "-m", "tests.simulate", "--size", "40", "--often", "2", "--databases", database]
    done = subprocess.run(
        [*command, "--output", output, "--document", page], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = {figure["step"]: figure for figure in json.loads(output.read_text())["figures"]}
    assert found.keys() == ABOUT.keys()
    assert all(0 < figure["p50"] <= figure["p99"] and figure["cloudlets"] == 40 for figure in found.values())
    text = page.read_text()
    assert "| devices | 400 |" in text and "old" not in text and text.endswith("## What it means\n\nis kept.\n")
    drawn = page.with_suffix(".svg").read_text()
    assert all(f">{step}, " in drawn for step in ABOUT)


def test_what_cannot_be_simulated_is_said_so() -> None:
    for arguments in (["--size", "3"], ["--databases", "oracle"]):
        command = [sys.executable, "-m", "tests.simulate", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and "--size: at least 20; --databases: sqlite, postgresql" in done.stderr
