"""Copies of machines' memory: how long they are kept, and which one makes room."""

import re
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.kept_copies import FOLDER, KeptCopies
from controller.wire.names import NAME_PATTERN

MIB = 1 << 20


class Cloudlet:
    """Kept copies at a time that the test sets; machines in `moving` are on their way."""

    def __init__(self, state: Path) -> None:
        self.now, self.moving = 1000.0, set[str]()
        self.folder = state / FOLDER
        self.copies = KeptCopies(state, lambda name: name in self.moving, lambda: self.now)

    def keep(self, name: str, seconds: int = 100, most: int = 100 * MIB, mib: int = 1) -> None:
        """A move ends: its copy is sealed."""
        folder = self.copies.folder(name, seconds, most)
        (folder / "transfer.mirror").write_bytes(b"x" * (mib * MIB))
        (folder / "transfer.mirror.kept").write_text("{}")

    @property
    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()


@pytest.fixture
def cloudlet(tmp_path: Path) -> Cloudlet:
    return Cloudlet(tmp_path)


def test_a_copy_is_kept_for_its_time(cloudlet: Cloudlet) -> None:
    cloudlet.keep("v1", seconds=100)
    cloudlet.keep("v2", seconds=200)
    cloudlet.now += 99
    cloudlet.copies.expire()
    assert cloudlet.names == {"v1", "v2"}
    cloudlet.now += 2
    cloudlet.copies.expire()
    assert cloudlet.names == {"v2"}


def test_a_copy_in_use_stays(cloudlet: Cloudlet) -> None:
    cloudlet.keep("v1", seconds=100)
    cloudlet.moving.add("v1")
    cloudlet.now += 1000
    cloudlet.copies.expire()
    cloudlet.keep("v2", most=0)
    assert cloudlet.names == {"v1", "v2"}
    cloudlet.moving.clear()
    cloudlet.copies.expire()
    assert cloudlet.names == {"v2"}


def test_a_copy_that_a_failed_move_left_is_deleted(cloudlet: Cloudlet) -> None:
    (cloudlet.copies.folder("v1", 100, MIB) / "transfer.mirror").write_bytes(b"half of it")
    cloudlet.moving.add("v1")
    cloudlet.now += 61
    cloudlet.copies.expire()
    assert cloudlet.names == {"v1"}
    cloudlet.moving.clear()
    cloudlet.copies.expire()
    assert cloudlet.names == set()


def test_a_folder_stays_until_its_session_has_had_time_to_start(cloudlet: Cloudlet) -> None:
    cloudlet.copies.folder("v1", 100, MIB)
    cloudlet.copies.expire()
    cloudlet.keep("v2", most=0)
    assert cloudlet.names == {"v1", "v2"}
    cloudlet.now += 61
    cloudlet.copies.expire()
    assert cloudlet.names == {"v2"}


def test_the_copies_that_end_first_make_room(cloudlet: Cloudlet) -> None:
    for name, seconds in (("v1", 300), ("v2", 100), ("v3", 200)):
        cloudlet.keep(name, seconds=seconds, mib=4)
    cloudlet.keep("v4", most=9 * MIB, mib=4)
    assert cloudlet.names == {"v1", "v3", "v4"}
    cloudlet.keep("v4", most=0)
    assert cloudlet.names == {"v4"}, "its own copy is not counted"


def test_a_sparse_copy_counts_for_what_it_takes(cloudlet: Cloudlet) -> None:
    cloudlet.keep("v1")
    with (cloudlet.folder / "v1" / "transfer.mirror").open("r+b") as file:
        file.truncate(1 << 34)
    cloudlet.keep("v2", most=8 * MIB)
    assert cloudlet.names == {"v1", "v2"}


def test_a_copy_is_for_its_owner_only(cloudlet: Cloudlet) -> None:
    cloudlet.keep("v1")
    assert (cloudlet.folder / "v1").stat().st_mode & 0o077 == 0


def test_a_time_that_cannot_be_read_is_over(cloudlet: Cloudlet) -> None:
    cloudlet.keep("v1")
    (cloudlet.folder / "v1" / "until").write_text("soon")
    cloudlet.copies.expire()
    assert cloudlet.names == set()


def test_no_room_is_a_sentence(cloudlet: Cloudlet) -> None:
    cloudlet.folder.write_text("a file where the folder should be")
    with pytest.raises(HypervisorError, match="no copy of v1 can be kept"):
        cloudlet.copies.folder("v1", 100, MIB)


def test_no_machine_is_called_like_the_folder() -> None:
    assert not re.match(NAME_PATTERN, FOLDER)
