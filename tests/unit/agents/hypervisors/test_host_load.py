"""The host's load, as the kernel tells it."""

from pathlib import Path

import pytest

from agents.hypervisors import host_load


def test_the_load_is_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:    50 kB\n")
    (tmp_path / "loadavg").write_text("1.25 0.50 0.10 2/300 12345\n")
    monkeypatch.setattr(host_load, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(host_load, "_LOAD", tmp_path / "loadavg")
    found = host_load.look()
    assert found is not None and (found.busy, found.memory_free) == (1.25, 50 << 10) and found.processors >= 1
    (tmp_path / "loadavg").write_text("")
    (tmp_path / "meminfo").write_text("MemAvailable: much\n")
    assert host_load.look() is None
    assert host_load.memory_free() > 0


def test_the_load_of_this_host() -> None:
    found = host_load.look()
    assert found is not None and found.memory_free > 1 << 20
