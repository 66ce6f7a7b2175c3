"""The journal of an agent's leases: what is in it after any end, and whether that is all."""

import asyncio
import os
from pathlib import Path

import pytest

from agents.leases import journal as files
from agents.leases.journal import Journal, JournalError


async def test_a_torn_end_is_what_nobody_heard_of(tmp_path: Path) -> None:
    path, run, boot = tmp_path / "a.journal", tmp_path / "run", tmp_path / "boot"
    boot.write_text("one")
    journal = Journal(path, run, boot)
    assert not journal.proven
    await journal.keep([("pair", "1", {"a": 1}), ("pair", "2", [2])])
    await journal.keep([("pair", "1", None), ("pair", "3", "ü")])
    await journal.close()
    whole = path.read_bytes()
    for cut in range(len(whole) - 1, len(whole) - 30, -7):
        path.write_bytes(whole[:cut])
        again = Journal(path, tmp_path / "elsewhere", boot)
        assert again.records == {("pair", "2"): [2]} and not again.proven
        await again.close()
    path.write_bytes(whole)
    assert Journal(path, run, boot).records == {("pair", "2"): [2], ("pair", "3"): "ü"}


@pytest.mark.parametrize("harm", ["an older copy", "another boot"])
async def test_what_is_not_proven_stays_so_until_something_is_kept(tmp_path: Path, harm: str) -> None:
    path, run, boot = tmp_path / "a.journal", tmp_path / "run", tmp_path / "boot"
    boot.write_text("one")
    journal = Journal(path, run, boot)
    await journal.keep([("pair", "1", 1)])
    older = path.read_bytes()
    await journal.keep([("pair", str(n), n) for n in range(2, 9)])
    await journal.close()
    if harm == "an older copy":
        path.write_bytes(older)
    else:
        boot.write_text("two")
    for _ in range(2):  # an agent that is killed before it could say that its memory has a gap
        killed = Journal(path, run, boot)
        assert not killed.proven
        await killed.close()
    journal = Journal(path, run, boot)
    await journal.keep([("meta", "incarnation", "anew")])
    await journal.close()
    assert Journal(path, run, boot).proven


async def test_many_who_wait_are_written_at_once_and_the_file_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boot").write_text("one")
    syncs: list[int] = []
    real = os.fdatasync

    def counting(file: int) -> None:
        syncs.append(file)
        real(file)

    monkeypatch.setattr(os, "fdatasync", counting)
    monkeypatch.setattr(files, "SLACK", 50)
    journal = Journal(tmp_path / "a.journal", tmp_path / "run", tmp_path / "boot")
    await asyncio.gather(*(journal.keep([("pair", str(n % 7), n)]) for n in range(100)))
    assert len(syncs) <= 3
    for n in range(500):
        await journal.keep([("pair", str(n % 7), n)])
    await journal.close()
    assert len((tmp_path / "a.journal").read_text().splitlines()) < 100
    again = Journal(tmp_path / "a.journal", tmp_path / "run", tmp_path / "boot")
    assert again.proven and sorted(again.records.values()) == list(range(493, 500))


async def test_a_disk_that_is_full_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "boot").write_text("one")
    journal = Journal(tmp_path / "a.journal", tmp_path / "run", tmp_path / "boot")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(JournalError, match="No space left"):
            await journal.keep([("pair", "1", 1)])
    await journal.keep([("pair", "2", 2)])
    await journal.close()
    assert Journal(tmp_path / "a.journal", tmp_path / "run", tmp_path / "boot").records == {
        ("pair", "1"): 1,
        ("pair", "2"): 2,
    }
