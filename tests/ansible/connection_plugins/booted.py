"""The way of Ansible to a host of the lab that boots (lab/booted_hosts): its namespaces, by the pid of its systemd."""

import subprocess
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: booted
short_description: hosts of the lab that boot
description: Runs commands as root in the namespaces of a process.
options:
  pid:
    description: The process.
    type: int
    required: true
    vars: [{name: booted_pid}]
"""

_ENVIRONMENT = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")


class Connection(ConnectionBase):  # type: ignore[misc]
    """A connection to one host."""

    transport = "booted"
    has_pipelining = True

    def _connect(self) -> "Connection":
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Run a command line; return its exit code and output."""
        done = self._run(["sh", "-c", cmd], in_data or b"")
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path: str, out_path: str) -> None:
        """Copy a file to the host."""
        done = self._run(["tee", "--", out_path], Path(in_path).read_bytes())
        if done.returncode:
            raise AnsibleConnectionFailure(done.stderr.decode(errors="replace"))

    def fetch_file(self, in_path: str, out_path: str) -> None:
        """Copy a file from the host."""
        done = self._run(["cat", "--", in_path], b"")
        if done.returncode:
            raise AnsibleConnectionFailure(done.stderr.decode(errors="replace"))
        Path(out_path).write_bytes(done.stdout)

    def close(self) -> None:
        """End the connection; nothing stays open between commands."""
        self._connected = False

    def _run(self, argv: list[str], given: bytes) -> "subprocess.CompletedProcess[Any]":
        inside = ["nsenter", "--target", str(self.get_option("pid")), "--all", "env", "-i", *_ENVIRONMENT]
        return subprocess.run([*inside, *argv], input=given, capture_output=True, check=False)
