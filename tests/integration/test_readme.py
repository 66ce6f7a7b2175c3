"""README's tour of `weft`: every command, in order, in the region that README names."""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator

import pytest

from lab.paths import ROOT
from lab.region import Region

pytestmark = pytest.mark.lab

PATIENCE = 60.0  # seconds for a command that ends by itself
ENDLESS = "weft route watch"
"""A command that the tour ends with Ctrl-C; it runs forever otherwise."""


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    """The region that `make lab-up` builds."""
    found = Region.load(ROOT / "lab/topologies/demo.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        yield found


def tour() -> list[str]:
    """Return the commands between those that bring the region up and down."""
    text = (ROOT / "README.md").read_text()
    [block] = re.findall(r"## A tour of `weft`\n+```\n(.*?)```", text, re.DOTALL)
    lines = [line.split("#")[0].strip() for line in block.splitlines()]
    commands = [line for line in lines if line]
    assert commands[:2] == ["make lab-up", ". build/env"] and commands[-1] == "make lab-down"
    return commands[2:-1]


@pytest.mark.smoke
def test_the_tour_runs_as_written(region: Region) -> None:
    for command in tour():
        words = shlex.split(command)
        assert words[0] == "weft"
        argv = [str(ROOT / "build/venv/bin/weft"), *words[1:]]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            if command.startswith(ENDLESS):
                assert "watching" in process.stdout.readline()
                process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=PATIENCE)
        ended = (0, 130) if command.startswith(ENDLESS) else (0,)
        assert process.returncode in ended, f"{command}: {said}"
        assert "Traceback" not in said, f"{command}: {said}"
