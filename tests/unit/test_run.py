"""`tests/run` with stand-ins for Go, pytest and the linters: which failures end it, and what it leaves behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.patience import until
from tests.house.imports import ROOT

pytestmark = pytest.mark.slow

STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>{folder}/called
case "$(basename "$0") $*" in {fails}) exit 1 ;; esac
sleep {seconds}
echo "$(basename "$0") $*" >>{folder}/ended
"""
UNIT, LAB, GO, LINT = (
    "python *tests/unit*",
    "python *tests/integration*",
    "go *test -short ./...|go *test -race ./...",
    "lint *",
)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for folder in ("tests", "bin"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "tests/run", tmp_path / "tests/run")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "bin/setpriv").write_text("#!/bin/sh\n")  # it finds out whether others can read the checkout
    (tmp_path / "bin/setpriv").chmod(0o755)
    return tmp_path


def run(suite: Path, tier: str, fails: str = "never", **seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run the suite. `fails` is a pattern of the shell's, for the command lines that fail; `seconds` by program."""
    for program in ("bin/go", "bin/python", "tests/lint"):
        pattern = fails.replace(" ", "\\ ")  # an unquoted space would end it
        text = STAND_IN.format(folder=suite, fails=pattern, seconds=seconds.get(Path(program).name, 0))
        (suite / program).write_text(text)
        (suite / program).chmod(0o755)
    environment = os.environ | {"PATH": f"{suite / 'bin'}:{os.environ['PATH']}"}
    argv = [str(suite / "tests/run"), tier]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("tier", ["smoke", "all"])
def test_all_parts_run(suite: Path, tier: str) -> None:
    done = run(suite, tier)
    assert done.returncode == 0, done.stdout + done.stderr
    called = (suite / "called").read_text()
    for word in ("tests/unit", "tests/conformance tests/integration", "-C routeserver", "-C deploy/terraform", "lint"):
        assert word in called, called
    assert ("test -short ./..." in called) is (tier == "smoke")
    assert ("test -race ./..." in called) is (tier == "all")


@pytest.mark.parametrize("fails", [UNIT, LAB, GO, LINT])
def test_a_part_that_fails_is_named_and_the_whole_suite_goes_on(suite: Path, fails: str) -> None:
    done = run(suite, "all", fails)
    assert done.returncode == 1 and done.stdout.count("\n== failed: ") == 2, "where it failed, and in the end"
    assert "syntax" not in done.stdout + done.stderr
    called = (suite / "called").read_text()
    assert all(word in called for word in ("tests/unit", "tests/integration", "lint"))


@pytest.mark.parametrize("fails", [UNIT, LAB, GO, LINT])
def test_the_smoke_ends_at_the_first_part_that_fails(suite: Path, fails: str) -> None:
    done = run(suite, "smoke", fails)
    assert done.returncode == 1 and "== done" not in done.stdout
    assert ("tests/unit" in (suite / "called").read_text()) is (fails in (UNIT, GO)), (
        "no part after the one that failed"
    )


def test_nothing_runs_on_after_the_end(suite: Path) -> None:
    done = run(suite, "smoke", LAB, go=30, lint=30)
    assert done.returncode == 1
    pgrep = ["pgrep", "-f", str(suite)]
    until(lambda: subprocess.run(pgrep, stdout=subprocess.DEVNULL, check=False).returncode == 1, "all has ended")
    assert "go" not in ((suite / "ended").read_text() if (suite / "ended").exists() else "")


def test_a_tier_that_is_none_is_named(suite: Path) -> None:
    done = run(suite, "fast")
    assert done.returncode == 2 and "fast" in done.stderr
