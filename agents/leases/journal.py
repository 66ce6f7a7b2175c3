"""The agent's journal: records that are on its disk before anybody hears of them.

The file has lines, each with a number, a check sum and one record (table, key, value). The last record of a key counts.
An incomplete last line is ignored: nobody had heard of it. The number of the last written line is also in a second
place, the proof, in a directory that is lost when the machine stops (/run). A file with fewer lines than its proof says
is an older copy. After a restart of the machine there is no proof. A file that is not proven to be the latest becomes
so with the next record that is kept, which says that the memory has a gap. An agent that is killed before that has
proven nothing.
"""

import asyncio
import contextlib
import json
import os
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agents.storage import durable
from agents.storage.group_commit import GroupCommit

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PROOFS = Path("/run/weft/journals")
SLACK = 2000
"""Number of superfluous lines after which the file is rewritten."""

Key = tuple[str, str]


class JournalError(Exception):
    """Raised when the journal cannot be read or written. The text names the file."""


class Journal:
    """One journal file. `records` is its content when it was opened; `proven` says that nothing was lost since the last
    write."""

    def __init__(self, path: Path, proofs: Path = PROOFS, boot: Path = BOOT_ID) -> None:
        self.path, self._boot = path, boot.read_text().strip()
        self.records: dict[Key, Any] = {}
        self._lines: dict[Key, str] = {}
        self._number = self._in_file = 0
        self._file = -1
        self._damaged = False
        self._identity = uuid.uuid4().hex
        self._unwritten: list[tuple[str, str, Any]] = []
        self._commit = GroupCommit(self._write_all)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = not self._read()
            self._proof = proofs / self._identity
            self.proven = not fresh and self._is_proven()
            self._rewrite()
            self._prove(proofs)
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}") from error

    async def keep(self, records: Iterable[tuple[str, str, Any]]) -> None:
        """Wait until these records, and all earlier ones, are on the disk. Raises JournalError; then they may be there
        or not."""
        self._unwritten += records
        if self._unwritten or not self._commit.idle:
            await self._commit.written()

    def clear(self) -> None:
        """Delete all records. Raises JournalError."""
        self.records.clear()
        self._lines.clear()
        try:
            self._rewrite()
        except OSError as error:
            raise JournalError(f"{self.path}: {error.strerror}") from error

    async def close(self) -> None:
        """Wait until no write runs any more, and close the file."""
        await self._commit.close()
        with contextlib.suppress(OSError):
            os.close(self._file)

    async def _write_all(self) -> None:
        """Write all waiting records with one write and one sync."""
        records, self._unwritten = self._unwritten, []
        try:
            await asyncio.to_thread(self._append, records)
        except OSError as error:
            self._unwritten = records + self._unwritten  # the next write has to include them
            raise JournalError(f"{self.path}: {error.strerror}") from error

    def _append(self, records: list[tuple[str, str, Any]]) -> None:
        if self._in_file > 2 * len(self._lines) + SLACK:
            for record in records:
                self._line(*record)
            self._rewrite()
        elif records:
            data = "".join(self._line(*record) for record in records).encode()
            if self._damaged:
                self._rewrite()
            else:
                self._damaged = True
                _write(self._file, data)
                os.fdatasync(self._file)
                self._damaged = False
                self._in_file += len(records)
        self._note()

    def _line(self, table: str, key: str, value: Any) -> str:
        self._number += 1
        text = json.dumps([self._number, table, key, value], separators=(",", ":"))
        line = f"{zlib.crc32(text.encode()):08x} {text}\n"
        if value is None:
            self._lines.pop((table, key), None)
        else:
            self._lines[table, key] = line
        return line

    def _read(self) -> bool:
        """Read the file. Return whether it had any line."""
        try:
            text = self.path.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return False
        for line in text.splitlines(keepends=True):
            check, _, content = line.partition(" ")
            content = content.removesuffix("\n")
            if not line.endswith("\n") or check != f"{zlib.crc32(content.encode()):08x}":
                break
            number, table, key, value = json.loads(content)
            self._number = number
            if table == "journal":
                self._identity = key
            elif value is None:
                self.records.pop((table, key), None)
                self._lines.pop((table, key), None)
            else:
                self.records[table, key] = value
                self._lines[table, key] = line
        return self._number > 0

    def _rewrite(self) -> None:
        """Write the same records in as few lines as possible; a crash leaves the old file or the new file."""
        self._number += 1
        text = json.dumps([self._number, "journal", self._identity, None], separators=(",", ":"))
        head = f"{zlib.crc32(text.encode()):08x} {text}\n"
        fresh = self.path.with_suffix(".new")
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            # The head comes last: it has the greatest number.
            _write(file, "".join((*self._lines.values(), head)).encode())
            os.fsync(file)
            durable.rename(fresh, self.path)
        except OSError:
            os.close(file)
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._in_file, self._damaged = file, len(self._lines) + 1, False

    def _is_proven(self) -> bool:
        try:
            boot, number = self._proof.read_text().split()
        except (OSError, ValueError):
            return False
        return boot == self._boot and number.isdigit() and int(number) <= self._number

    def _prove(self, proofs: Path) -> None:
        """Open the proof. Without a place for it, the next start counts as the start of another machine. A file that is
        not proven stays so until the next record is kept."""
        self._mark: int | None = None
        with contextlib.suppress(OSError):
            proofs.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._mark = os.open(self._proof, os.O_WRONLY | os.O_CREAT, 0o644)
            if self.proven:
                self._note()

    def _note(self) -> None:
        if self._mark is not None:
            os.pwrite(self._mark, f"{self._boot} {self._number:020d}".encode(), 0)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
