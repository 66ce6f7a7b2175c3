"""The threat model names tests, and they exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operate/threats.md").read_text()


def test_every_mechanism_has_tests_that_are_there() -> None:
    table = PAGE[PAGE.index("## What stops what") : PAGE.index("## What is not defended")]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(lines) > 15
    for line in lines:
        named = re.findall(
            r"`((?:tests|routeserver|agents/transfer)/\S+)`", line.rpartition("| ")[0] + line.split("|")[-2]
        )
        assert named, line
        for name in named:
            assert (ROOT / name).is_file(), name


def test_it_is_found() -> None:
    assert "docs/operate/threats.md" in (ROOT / "SECURITY.md").read_text()
    assert "`operate/threats.md`" in (ROOT / "docs/README.md").read_text()
