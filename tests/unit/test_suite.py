"""A failed test runs once more, and is named if it passes then; repeated failures, or too many, fail the run."""

from pathlib import Path

import pytest

from tests.suite import FEW, suite

pytestmark = pytest.mark.slow

UNSTEADY = """
from pathlib import Path
def test_unsteady():
    mark = Path(__file__).with_name("seen")
    seen, _ = mark.exists(), mark.touch()
    assert seen
"""
BROKEN = "def test_broken_{0}():\n    assert False\n"


@pytest.mark.parametrize(
    ("text", "code", "named", "runs"),
    [
        ("def test_well(): pass\n", 0, None, 1),
        (UNSTEADY, 0, "test_it.py::test_unsteady\n", 2),
        (BROKEN.format(0), 1, None, 2),
        (UNSTEADY + BROKEN.format(0), 1, None, 2),
        (UNSTEADY + "".join(map(BROKEN.format, range(FEW))), 1, None, 1),
        ("import weft_no_such_module\n", 2, None, 1),
    ],
)
def test_runs(tmp_path: Path, text: str, code: int, named: str | None, runs: int) -> None:
    counted = (
        "from pathlib import Path\ndef pytest_sessionstart():\n    with Path('runs').open('a') as f: f.write('x')\n"
    )
    (tmp_path / "conftest.py").write_text(counted)
    (tmp_path / "test_it.py").write_text(text)
    (tmp_path / "build").mkdir()
    assert suite(["test_it.py"], tmp_path) == code
    kept = tmp_path / "build" / "unsteady"
    assert (kept.read_text() if kept.exists() else None) == named
    assert (tmp_path / "runs").read_text() == "x" * runs


def test_the_second_run_is_of_the_same_tier(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--tier', default='all')\n"
    )
    text = "def test_it(request, pytestconfig):\n    assert pytestconfig.getoption('tier') == 'nightly' and seen()\n"
    text += "def seen():\n    there = file.exists()\n    file.touch()\n    return there\n"
    (tmp_path / "test_it.py").write_text(f"import pathlib\nfile = pathlib.Path({str(tmp_path / 'ran')!r})\n{text}")
    assert suite(["test_it.py", "--tier", "nightly"], tmp_path) == 0
    assert "test_it" in (tmp_path / "build" / "unsteady").read_text()
