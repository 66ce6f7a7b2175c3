"""The lab's lock: exclusive, named, released, and no file remains."""

import os
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.lock import LabLock


def test_exclusive_and_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = LabLock(path), LabLock(path)
    first.acquire()
    with pytest.raises(LabError, match=f"held by process {os.getpid()}"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_no_file_stays(tmp_path: Path) -> None:
    lock = LabLock(tmp_path / "lock")
    lock.acquire()
    assert lock.path.exists()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_file_left_by_the_dead_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("4711\n")
    with LabLock(path) as lock:
        assert lock.held


def test_waiting_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    first = LabLock(tmp_path / "lock")
    first.acquire()
    with pytest.raises(LabError):
        LabLock(tmp_path / "lock").acquire(0.5, told.append)
    first.release()
    assert len(told) == 1
