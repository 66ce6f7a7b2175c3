"""The door to runc (runc(8)), which runs a container, and has CRIU dump and restore it (criu(8))."""

import asyncio
import re
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.answer import Unreadable, printable, read_json
from agents.hypervisors.container.bundle import CRIU_CONFIG
from agents.hypervisors.container.control_group import group, unified
from agents.hypervisors.container.dumps import MEMORY
from agents.hypervisors.container.sandbox import Sandbox, finished
from agents.hypervisors.detached import detached
from agents.hypervisors.hypervisor import HypervisorError, Refused

Status = Literal["absent", "creating", "created", "running", "pausing", "paused", "stopped"]

_ID = "machine"  # below a root of its own for each container
_STATE = "runc"
_WORK = "criu"  # logs of CRIU
_OUTPUT = "output"  # of the container
_BEGAN = "began"  # the exit code of the runc that starts a container
_ABSENT = "does not exist"
_LOOK = 5.0  # seconds
_STARTING = 60.0
_DUMPING = 600.0
_POLL = 0.005
_ENDED = 0.02
_ENDING = 10.0
_REASON = re.compile(r"^\([0-9.]+\) +(?:\d+: )?Error \([^)]*\): (.*)$", re.MULTILINE)
_RUN = re.compile(rb"j\$([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")  # dump_criu_run_id, its inventory's field 13
_LONGEST = 26  # characters of a table's name for which CRIU has room, after "inet "

CRIU = "network-lock nftables\nghost-limit 67108864\n"
"""CRIU's configuration: networks are held by nftables, as iptables may be missing; and files that are deleted and still
open go along, of up to 64 MiB."""

_ROUND = "network-lock skip\ntcp-close\nghost-limit 67108864\n"
"""The configuration of a dump whose connections nobody restores, so that they are left alone: while CRIU reads a
socket that has bytes to send, the kernel counts them as sent (TCP_REPAIR, tcp(7)), and none of them goes before a
retransmission timeout."""


class _State(TypedDict):
    status: str


class _Memory(TypedDict):
    raw: dict[str, int]


class _Statistics(TypedDict):
    memory: _Memory


class _Event(TypedDict):
    data: _Statistics


_STATE_FORM = TypeAdapter(_State)
_EVENT_FORM = TypeAdapter(_Event)
_STATUS_FORM: TypeAdapter[Status] = TypeAdapter(Status)


class Runc:
    """The container of `folder`, in its sandbox."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self._folder, self._sandbox, self._name = folder, sandbox, folder.name
        self._dumping: asyncio.Task[str] | None = None

    @property
    def output(self) -> Path:
        """The file with the container's output."""
        return self._folder / _OUTPUT

    async def status(self) -> Status:
        """Return the container's status. Raises HypervisorError."""
        if self._sandbox.pid() is None:
            return "absent"
        try:
            said = await self._runc("state", _ID, seconds=_LOOK)
        except HypervisorError as error:
            if _ABSENT in str(error):
                return "absent"
            raise
        try:
            return _STATUS_FORM.validate_python(read_json(_STATE_FORM, said, 1 << 16)["status"])
        except (Unreadable, ValueError) as error:
            raise HypervisorError(f"{self._name}: the answer of runc state {error}") from None

    async def memory_used(self) -> int | None:
        """Return the bytes of memory that the container uses, without those of files: those that CRIU's images have.
        None if that is not known."""
        try:
            said = await self._runc("events", "--stats", _ID, seconds=_LOOK)
            found = read_json(_EVENT_FORM, said, 1 << 20)["data"]["memory"]["raw"]
        except (HypervisorError, Unreadable):
            return None
        ours = [found[name] for name in ("anon", "total_rss") if name in found]  # of cgroup v2 and v1
        return ours[0] + found.get("total_shmem", found.get("shmem", 0)) if ours else None

    async def start(self) -> None:
        """Run the container from its beginning. Raises HypervisorError."""
        await self._begin("run", "--detach", "--bundle", str(self._folder), _ID)

    async def restore(self) -> None:
        """Run the container as its images say. If this raises, no process of it has run. Raises HypervisorError."""
        # The images have the source's control group, which runc replaces in version 1 alone.
        self._configure(CRIU + (f"cgroup-root {group(self._folder)}\n" if unified() else ""))
        (self._folder / _WORK / "restore.log").unlink(missing_ok=True)
        try:
            images = self._images(self._folder / MEMORY)
            await self._begin("restore", "--detach", "--bundle", str(self._folder), *images, _ID)
        except HypervisorError as error:
            raise HypervisorError(f"{error}{self._reason('restore')}") from None

    def lock(self) -> str | None:
        """Return the nftables table by which CRIU held the network at its dump, and which it deletes in its restore, as
        soon as all sockets are there; None if the images do not say."""
        try:
            found = _RUN.search((self._folder / MEMORY / "inventory.img").read_bytes())
        except OSError:
            return None
        return f"CRIU-{found[1].decode()}"[:_LONGEST] if found else None

    def restored(self) -> bool:
        """Return whether CRIU has let the container's processes run, even if they have ended since."""
        try:
            return "Restore finished successfully" in (self._folder / _WORK / "restore.log").read_text(errors="replace")
        except OSError:
            return False

    async def dump(self, images: Path, parent: str | None = None, *, last: bool, memory: bool = False) -> None:
        """Make images of the container's processes in a folder, which go on as before. Only the `last` ones have its
        connections. They have only pages that were written since the `parent`, a folder beside them, was made; with
        `memory` they have pages alone, and the processes stand still only while CRIU finds those. Raises Refused if
        CRIU says why it cannot, and HypervisorError. A caller that goes leaves it to its end: code of CRIU runs in the
        processes meanwhile."""
        await self._undumped()
        self._configure(CRIU if last else _ROUND)
        (self._folder / _WORK / "dump.log").unlink(missing_ok=True)
        since = ["--parent-path", f"../{parent}"] if parent else []
        words = ["checkpoint", "--pre-dump" if memory else "--leave-running", *since, *self._images(images), _ID]
        argv = self._sandbox.inside(*self._words(*words))
        self._dumping = asyncio.create_task(finished(argv, "runc checkpoint", self._name, seconds=_DUMPING))
        try:
            await asyncio.shield(self._dumping)
        except HypervisorError as error:
            if reason := self._reason("dump"):
                raise Refused(f"{error}{reason}; it runs on") from None
            raise

    async def _undumped(self) -> None:
        """Wait for the end of a dump whose caller has gone."""
        if self._dumping is not None:
            await asyncio.wait({self._dumping})

    def _configure(self, configuration: str) -> None:
        (self._folder / CRIU_CONFIG).write_text(configuration)

    async def pause(self) -> None:
        await self._undumped()
        await self._runc("pause", _ID)

    async def resume(self) -> None:
        await self._undumped()
        await self._runc("resume", _ID)

    async def terminate(self) -> None:
        """Ask the container's first process to end. Raises HypervisorError."""
        await self._runc("kill", _ID, "TERM")

    async def end(self) -> None:
        """End all processes of the container, and return when they have. Raises HypervisorError if they cannot be
        ended."""
        await self._undumped()
        status = await self.status()
        if status in ("absent", "stopped"):
            return
        said = ""
        for words in (["kill", _ID, "KILL"], *([["resume", _ID]] if status == "paused" else [])):
            try:
                await self._runc(*words)
            except HypervisorError as error:  # it may have ended, or runc has thawed it for the signal
                said = str(error)
        try:
            async with asyncio.timeout(_ENDING):
                await self.ended()
        except TimeoutError:
            raise HypervisorError(f"{self._name}: its processes cannot be ended: {said}") from None

    async def ended(self) -> None:
        """Wait until the container has ended."""
        while await self.status() not in ("absent", "stopped"):  # noqa: ASYNC110 - runc tells nobody
            await asyncio.sleep(_ENDED)

    async def delete(self) -> None:
        """Delete what runc keeps of the container, which is ended first. Raises HypervisorError."""
        await self.end()
        if (self._folder / _STATE / _ID).is_dir():
            alive = self._sandbox.pid() is not None
            words = self._words("delete", "--force", _ID)
            argv = self._sandbox.inside(*words) if alive else words  # the control groups are left
            await finished(argv, "runc delete", self._name)

    async def execute(self, *argv: str, seconds: float) -> str:
        """Run a program in the container, and return its output. Raises HypervisorError."""
        return await finished(self._sandbox.inside(*self._words("exec", _ID, *argv)), argv[0], self._name, "", seconds)

    def _words(self, *words: str) -> list[str]:
        return ["runc", "--root", str(self._folder / _STATE), *words]

    def _images(self, images: Path) -> list[str]:
        work = str(self._folder / _WORK)
        return ["--tcp-established", "--file-locks", "--image-path", str(images), "--work-path", work]

    async def _runc(self, *words: str, seconds: float = _STARTING) -> str:
        argv = self._sandbox.inside(*self._words(*words))
        return await finished(argv, f"runc {words[0]}", self._name, seconds=seconds)

    async def _begin(self, *words: str) -> None:
        """Start runc, whose output is the container's. Something has to read that as long as the container runs."""
        began = self._folder / _BEGAN
        began.unlink(missing_ok=True)
        script = '{ "$@"; echo $? >began.new; mv began.new began; } </dev/null 2>&1 | exec cat >>output'
        argv = self._sandbox.inside("sh", "-c", script, "sh", *self._words(*words))
        self.output.write_bytes(b"")
        try:
            async with detached(self._folder, argv, self._folder / "start.log"), asyncio.timeout(_STARTING):
                while not began.is_file():  # noqa: ASYNC110 - another process writes it
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            raise HypervisorError(f"{self._name}: runc {words[0]} took more than {_STARTING:g} s") from None
        except OSError as error:
            raise HypervisorError(f"{self._name}: runc cannot be started: {error.strerror}") from error
        if began.read_text().strip() != "0":
            said = printable(self.output.read_text(errors="replace").strip()[-400:], 400)
            raise HypervisorError(f"{self._name}: runc {words[0]} failed: {said}")

    def _reason(self, verb: str) -> str:
        """Return CRIU's own reasons from its log."""
        try:
            log = (self._folder / _WORK / f"{verb}.log").read_text(errors="replace")
        except OSError:
            return ""
        said = [found for found in _REASON.findall(log) if "RLIMIT_NOFILE" not in found]
        return f": CRIU: {printable('; '.join(said[:3]), 300)}" if said else ""
