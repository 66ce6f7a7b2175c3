"""The other ways to move a container: its whole file system with CRIU, and podman's checkpoint and restore."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents import command
from agents.hypervisors.container.container import Container
from agents.hypervisors.container.dumps import MEMORY
from agents.hypervisors.container.rootfs import UPPER
from controller.wire.machines import Machine
from controller.wire.moves import Tuning
from lab.container_hosts import container_at
from lab.errors import LabError
from lab.hosts import Hosts

_PORT = 5300
_PATIENCE = 1200.0  # seconds of a transfer
_TAKE = """
import shutil, socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as server:
    shutil.copyfileobj(server.accept()[0].makefile("rb"), sys.stdout.buffer)
"""
_GIVE = """
import shutil, socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as line, line.makefile("wb") as out:
    shutil.copyfileobj(sys.stdin.buffer, out)
"""
_CONFIGURATION = """[containers]
seccomp_profile = "unconfined"
apparmor_profile = "unconfined"
default_ulimits = []
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@dataclass(frozen=True)
class Taken:
    """The time in seconds of a move and of its pause, and the bytes that went."""

    seconds: float
    frozen: float
    wire: int


def whole(hosts: Hosts, machine: Machine) -> Taken:
    """Freeze the container, copy its whole file system and its memory, and restore it."""
    one, two = hosts.one, hosts.two
    here, there = container_at(one, machine.name), container_at(two, machine.name)
    began, before = time.monotonic(), hosts.sent(0)
    two.do(two.driver.prepare(machine, two.attachment, "a", "w1", Tuning()))
    one.do(here.runtime.pause())
    frozen = time.monotonic()
    one.do(here.runtime.dump(here.folder / MEMORY, last=True))
    pack = f"tar --create --xattrs --xattrs-include='*' --directory {here.folder} merged {MEMORY}"
    unpack = f"tar --extract --xattrs --xattrs-include='*' --numeric-owner --directory {there.folder}"
    _pipe(hosts, here.sandbox.inside("sh", "-c", pack), ["sh", "-c", unpack])
    subprocess.run(["rm", "-rf", str(there.folder / UPPER)], check=True)
    (there.folder / "merged").rename(there.folder / UPPER)
    (there.folder / "merged").mkdir()
    two.do(_restore(there))
    ended, wire = time.monotonic(), hosts.sent(0) - before
    return Taken(ended - began, ended - frozen, wire)


async def _restore(there: Container) -> None:
    """Restore the container above a copy of all its files, whose folder was renamed: that has ended its mount."""
    await there.sandbox.run("mount", "--bind", str(there.folder / UPPER), str(there.folder / "merged"))
    await there.runtime.restore()


class Podman:
    """Two hosts' podman, each with a storage of its own below `folder`. Raises LabError without podman."""

    def __init__(self, hosts: Hosts, images: Path, folder: Path) -> None:
        self._hosts, self._images, self._folder = hosts, images, folder
        folder.mkdir(exist_ok=True)
        (folder / "containers.conf").write_text(_CONFIGURATION)
        (folder / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))

    def _podman(self, number: int, *words: str) -> list[str]:
        root = self._folder / f"podman{number}"
        storage = ["--root", str(root / "root"), "--runroot", str(root / "run"), "--runtime", "runc"]
        return ["env", f"CONTAINERS_CONF={self._folder / 'containers.conf'}", "podman", *storage, *words]

    def _do(self, number: int, *words: str) -> str:
        done = subprocess.run(self._podman(number, *words), capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"podman {words[0]}: {done.stderr.strip()[-400:]}")
        return done.stdout

    def start(self, image: str, words: Sequence[str]) -> None:
        """Bring the image to both hosts, and run a container of it at the first one."""
        for number in (1, 2):
            where = f"oci:{self._images / image}:latest"
            self._do(number, "pull", "--quiet", "--signature-policy", str(self._folder / "policy.json"), where)
        found = self._do(1, "images", "--quiet").split()[0]
        self._do(1, "run", "--detach", "--name", "moved", "--network", "none", found, *words)

    def move(self) -> Taken:
        """Move it."""
        archive, there = self._folder / "out.tar.zst", self._folder / "in.tar.zst"
        began, before = time.monotonic(), self._hosts.sent(0)
        self._do(1, "container", "checkpoint", "--compress", "zstd", "--export", str(archive), "moved")
        _pipe(self._hosts, ["cat", str(archive)], ["sh", "-c", f"cat >{there}"])
        self._do(2, "container", "restore", "--import", str(there))
        ended, wire = time.monotonic(), self._hosts.sent(0) - before
        return Taken(ended - began, ended - began, wire)

    def close(self) -> None:
        for number in (1, 2):
            for words in (("rm", "--force", "--all", "--time", "0"), ("rmi", "--force", "--all")):
                subprocess.run(self._podman(number, *words), capture_output=True, check=False)


def _pipe(hosts: Hosts, source: Sequence[str], sink: Sequence[str]) -> None:
    """Copy a program's output to another one at the other host, over one TCP connection. Raises LabError."""
    address = hosts.two.do(_address())
    take, give = ([sys.executable, "-c", script, address, str(_PORT)] for script in (_TAKE, _GIVE))
    receiving = hosts.two.begin(
        command.run("sh", "-c", f'{shlex.join(take)} | "$@"', "sh", *sink, seconds=_PATIENCE),
    )
    deadline = time.monotonic() + 10
    while not hosts.two.do(command.run("ss", "-Hltn", f"sport = :{_PORT}")).out.strip():
        if time.monotonic() > deadline:
            raise LabError("the other host does not listen")
        time.sleep(0.01)
    sending = command.run("sh", "-c", f'"$@" | {shlex.join(give)}', "sh", *source, seconds=_PATIENCE)
    sent = hosts.one.do(sending, _PATIENCE)
    received = receiving.result(_PATIENCE)
    for ended in (sent, received):
        if ended.code:
            raise LabError(f"the copy failed: {ended.complaint.strip()[-400:]}")


async def _address() -> str:
    """Return the host's address on the line."""
    found = json.loads((await command.run("ip", "-json", "-4", "address", "show", "dev", "wan0")).out)
    return str(found[0]["addr_info"][0]["local"])
