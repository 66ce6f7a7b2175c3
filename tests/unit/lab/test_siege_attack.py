"""The priority of attackers: also of their sessions, where the kernel divides processors among these first."""

import subprocess
from pathlib import Path

import pytest

from lab.siege.attack import NICE, group


def test_a_session_has_its_attackers_priority() -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel has no autogroups")
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as attacker:
        try:
            group(attacker.pid, NICE)
            assert Path(f"/proc/{attacker.pid}/autogroup").read_text().split()[-2:] == ["nice", NICE]
        finally:
            attacker.kill()


def test_an_attacker_that_has_ended_has_none() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as attacker:
        pass
    group(attacker.pid, NICE)
