"""The door to weft-transfer (agents/transfer), the program that carries memory and disks over thin lines: one process
for each of the two beside the machine's QEMU, at each end of a move. It is found again by its pid and its own command
line, and outlives the agent.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.answer import Unreadable, printable, read_json
from agents.hypervisors.detached import detached
from agents.hypervisors.hypervisor import HypervisorError, Refused, Site
from agents.hypervisors.record import Move
from agents.hypervisors.short_path import short
from agents.hypervisors.target import HostPort
from controller.wire.moves import Pages

PROGRAM = "weft-transfer"
SOCKET, DISK_SOCKET = "transfer", "nbd"
"""The sockets between QEMU and the processes for memory and for the disk, in the machine's folder."""

_READY = 40.0  # seconds until the ends are connected: the other one has to map its files first
_LISTENS = 10.0
_ANSWER = 5.0
_SEALS = 15.0  # seconds for the digest of a copy: a gigabyte of memory takes one
_REPORTS = 1.0  # seconds in which a process that has failed ends
_LONGEST = 1 << 16  # bytes of a status
_POLL = 0.02

Phase = Literal["starting", "waiting", "ready", "streaming", "ended", "failed"]


class Status(TypedDict):
    """The work of an end so far (agents/transfer/internal/ends/report.go). Bytes; `backlog` are those that the line
    has to carry until all that QEMU has sent is at the other end, `bandwidth` is the bytes per second that it takes,
    `repeated` the bytes on the line for a page that was sent before, `wrong` the number of batches that went again,
    `processor` the seconds of a processor that the end has taken, `fast` says that the line is, and `pages` are the
    operations by kind."""

    phase: Phase
    error: str
    stream: int
    wire: int
    backlog: int
    bandwidth: float
    repeated: float
    wrong: int
    processor: NotRequired[float]  # an older process does not say
    fast: NotRequired[bool]
    kept: bool
    pages: dict[str, int]


_STATUS = TypeAdapter(Status)


@dataclass(frozen=True)
class Session:
    """One move's session. `identity` is the directory of this cloudlet's certificate, and `peer` the other cloudlet;
    without them the session is in the clear. `mirror` is the file for the machine's memory or disk, of which it has
    `mirrored` bytes at most; `keep` lets it stay after the move. `references` are files that both ends may have, by
    SHA-256. `disk` is the size of the disk in bytes; None for memory. `trees` are directories
    of the folder that go in rounds, in place of a QEMU's stream. `without` are techniques that the source leaves
    out (`weft-transfer --help`)."""

    move: str
    place: HostPort
    mirror: Path
    keep: bool = False
    mirrored: int | None = None
    multipath: bool = False
    identity: Path | None = None
    peer: str | None = None
    references: Sequence[tuple[str, Path]] = ()
    hashes: Path | None = None
    bandwidth: int | None = None  # bits per second
    disk: int | None = None
    trees: Sequence[str] = ()
    without: str = ""

    def options(self) -> list[str]:
        """Return the options of both ends. Pure."""
        words = ["--move", self.move, "--mirror", str(self.mirror), *(["--keep"] if self.keep else [])]
        if self.identity is not None and self.peer is not None:
            words += ["--identity", str(self.identity), "--peer", self.peer]
        else:
            words += ["--clear"]
        if self.mirrored is not None:
            words += ["--mirror-bytes", str(self.mirrored)]
        for digest, path in self.references:
            words += ["--reference", f"{digest}:{path}"]
        if self.disk is not None:
            words += ["--disk", str(self.disk)]
        if self.trees:
            words += ["--trees", ",".join(self.trees)]
        if self.hashes is not None:
            words += ["--hashes", str(self.hashes)]
        return words + (["--multipath"] if self.multipath else [])

    def sending(self) -> list[str]:
        """Return the source's own options. Pure."""
        words = ["--bandwidth", str(self.bandwidth)] if self.bandwidth else []
        words += ["--without", self.without] if self.without else []
        # A kept mirror has to be whole, that of a disk is also for what QEMU copies beside each write, and each round
        # of trees has all pages again.
        whole = self.keep or self.disk is not None or self.trees
        return words if whole else [*words, "--sparing"]


class WeftTransfer:
    """The process beside the machine of `folder`, whose QEMU uses `socket`."""

    def __init__(self, folder: Path, socket: str = SOCKET) -> None:
        self._name, self._folder, self._socket = folder.name, folder, socket

    def runs(self) -> bool:
        return self._pid() is not None

    async def send(self, session: Session) -> None:
        """Connect to the destination's process, unless that has been done, and wait until QEMU may begin. Raises
        HypervisorError."""
        if not self.runs():
            await self._start("send", "--to", session, session.sending())
        await self._reach(("ready", "streaming", "ended"), _READY)

    async def receive(self, session: Session) -> None:
        """Wait for the source's process. QEMU listens already. Raises HypervisorError."""
        await self._start("receive", "--listen", session, [])
        await self._reach(("waiting",), _LISTENS)

    async def status(self) -> Status | None:
        """Return what the process has done; None if there is none, and none has ended with a report."""
        text = await self._ask()
        if text is None:
            with suppress(OSError):
                text = self._path("report").read_bytes()
        if not text:
            return None
        try:
            return read_json(_STATUS, text, _LONGEST)
        except Unreadable as error:
            raise HypervisorError(f"{self._name}: the status of {PROGRAM} {error}") from None

    async def end(self) -> None:
        """End the process, and delete its mirror. QEMU finds its connection closed."""
        if (pid := self._pid()) is not None:
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(pid)
                try:
                    if self._pid() == pid:
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)
        (self._folder / mirror(self._socket)).unlink(missing_ok=True)

    async def finish(self) -> None:
        """Let the process end by itself when its QEMU, or its last round, has ended, so that it can seal a copy that is
        kept; else end it."""
        pid = self._pid()
        if pid is not None and "--keep" in self._words(pid) and await self._streams():
            with suppress(ProcessLookupError, TimeoutError):
                await _exit(pid, _SEALS)
        await self.end()

    async def _streams(self) -> bool:
        """Return whether the process has met its QEMU: else it may wait for one for ever."""
        try:
            found = await self.status()
        except HypervisorError:
            return False
        return found is not None and found["phase"] in ("streaming", "ended")

    def _path(self, what: str) -> Path:
        return self._folder / f"{self._socket}.{what}"

    def _pid(self) -> int | None:
        try:
            pid = int(self._path("pid").read_text())
        except (OSError, ValueError):
            return None
        return pid if self._words(pid) else None

    def _words(self, pid: int) -> list[str]:
        """Return the command line of our process; empty if `pid` is another's."""
        try:
            words = os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
            ours = Path(f"/proc/{pid}/cwd").samefile(self._folder)
        except OSError:
            return []
        return words if ours and Path(words[0]).name == PROGRAM and self._socket in words else []

    async def _start(self, verb: str, place: str, session: Session, more: list[str]) -> None:
        await self.end()
        self._path("pid").unlink(missing_ok=True)
        installed = shutil.which(PROGRAM)
        if installed is None:
            raise Refused(f"{PROGRAM} is not installed; the option 'compression' asks for it")
        for what in ("status", "report"):
            self._path(what).unlink(missing_ok=True)
        argv = [installed, verb, place, str(session.place), "--qemu", self._socket, *session.options(), *more]
        argv += [word for what in ("status", "report", "pid") for word in (f"--{what}", self._path(what).name)]
        try:
            # In the folder, as a socket's address has 108 bytes, and our path may have more.
            async with detached(self._folder, argv, self._path("log")) as its:
                await self._begun(its)
        except OSError as error:
            raise HypervisorError(f"{self._name}: {PROGRAM} cannot be started: {error.strerror}") from error

    async def _begun(self, its: int) -> None:
        """Wait until the process has written its pid, or has ended."""
        os.set_blocking(its, False)
        while not self.runs():
            with suppress(BlockingIOError):
                os.read(its, 1)
                return
            await asyncio.sleep(_POLL)

    async def _reach(self, phases: Sequence[Phase], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = await self.status()
                    if found is not None and found["phase"] in phases:
                        return
                    if (found is not None and found["phase"] == "failed") or not self.runs():
                        raise HypervisorError(f"{self._name}: {await self.complaint()}")
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            await self.end()
            raise HypervisorError(f"{self._name}: {PROGRAM} was not {phases[0]} within {seconds:g} s") from None

    async def complaint(self) -> str:
        """Return why the process has failed, for users."""
        if (pid := self._pid()) is not None:  # it closes QEMU's socket first, and writes its report at the end
            with suppress(ProcessLookupError, TimeoutError):
                await _exit(pid, _REPORTS)
        found = await self.status()
        if found is not None and found["error"]:
            return f"{PROGRAM}: {printable(found['error'], 400)}"
        try:
            said = self._path("log").read_text(errors="replace").strip()[-400:]
        except OSError:
            said = ""
        return printable(said, 400) or f"{PROGRAM} {'does not answer' if self.runs() else 'has ended'}"

    async def _ask(self) -> bytes | None:
        """Return the status that the process gives; None if it does not run."""
        try:
            async with asyncio.timeout(_ANSWER):
                with short(self._path("status")) as path:
                    reader, writer = await asyncio.open_unix_connection(path)
                try:
                    return await reader.read(_LONGEST)
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return None


async def hash_ahead(folder: Path, references: Sequence[tuple[str, Path]], hashes: Path) -> None:
    """Begin to hash the pages of files that both ends may have, at low priority, so that no move waits for that.
    Failures are in the folder's `hash.log`, and cost bytes in a move."""
    installed = shutil.which(PROGRAM)
    missing = [(digest, path) for digest, path in references if not (hashes / f"{digest}.hashes").is_file()]
    if installed is None or not missing:
        return
    argv = ["nice", "-n", "19", installed, "hash", "--hashes", str(hashes)]
    argv += [word for digest, path in missing for word in ("--reference", f"{digest}:{path}")]
    with suppress(OSError):
        async with detached(folder, argv, folder / "hash.log"):
            pass


async def at_once(*steps: Coroutine[Any, Any, None]) -> None:
    """Carry out steps at once. If one fails, the others end, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for step in steps:
                group.create_task(step)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def identity(site: Site, move: Move) -> Path | None:
    """Return the directory of this cloudlet's certificate, by which the ends of a move authenticate each other; None
    without one. Raises HypervisorError if the agent has not said which cloudlet the other one is."""
    if site.identity is None or not (site.identity / "certificate.pem").is_file():
        return None
    if move.peer is None:
        raise HypervisorError(f"the agent has not said which cloudlet is at the other end of move {move.name}")
    return site.identity


def figures(status: Status) -> dict[str, Any]:
    """Return the figures that weft-transfer knows better than the hypervisor."""
    by = status["pages"].get
    pages = Pages(
        zero=by("zero", 0),
        same=by("same", 0),
        known=by("copy", 0),
        delta=by("delta", 0),
        literal=by("literal", 0),
        repeats=status["wrong"],
        kept=status["kept"],
        fast=status.get("fast", False),
    )
    return {"wire": status["wire"], "pages": pages}


def mirror(socket: str) -> str:
    """Return the name of the mirror of the process whose QEMU uses that socket."""
    return f"{socket}.mirror"


async def _exit(pid: int, seconds: float) -> None:
    """Wait for the end of a process. Raises ProcessLookupError if there is none, and TimeoutError."""
    handle, ended, loop = os.pidfd_open(pid), asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
