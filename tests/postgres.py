"""The tests' own PostgreSQL server: below a temporary directory, on a unix socket only, removed with its owner.

Its settings are the defaults, except for those that make mistakes visible: text is sorted by language (ICU) and not by
bytes, the time zone is far from UTC, and controllers are not superusers.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import asyncpg

OWNER = "weft"
"""The role that owns the databases."""

ROOM = 2 * 1024**3
"""Bytes that must be free in memory (/dev/shm) for a cluster to be put there, where fsync costs nothing."""

KEEPER = """
cat >/dev/null
if read -r pid <"$1/data/postmaster.pid" && kill -QUIT "$pid"; then
  while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid"; do sleep 0.02; done
fi 2>/dev/null
rm -rf "$1"
"""
"""A script that waits until its standard input ends, as it does when the tests end or are killed, and then stops the
server and removes its files."""


def _binaries() -> Path:
    """Return the directory of initdb and postgres; the latest release is preferred."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]), reverse=True)
    there = str(found[0]) if found else shutil.which("initdb")
    if there is None:
        raise SystemExit("PostgreSQL is not installed on this machine; lab/provision installs it")
    return Path(there).parent


class Cluster:
    """A server and its databases; tests can stop it, kill it and start it again. As a context manager it is removed at
    the end. `durable` puts it on a disk."""

    def __init__(self, *, durable: bool = False) -> None:
        self._binaries = _binaries()
        memory = Path("/dev/shm")
        quick = not durable and memory.is_dir() and shutil.disk_usage(memory).free > ROOM
        self.path = Path(tempfile.mkdtemp(prefix="weft-postgres-", dir=memory if quick else None))
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", str(self.path)], stdin=subprocess.PIPE, start_new_session=True
        )
        self._made = 0
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.path, user.pw_uid, user.pw_gid)
        self._run("initdb", "-D", str(self.path / "data"), "-U", "postgres", "--auth=trust", "--no-sync",
                  "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")  # fmt: skip
        with (self.path / "data" / "postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.path}'\n")
            settings.write("timezone = 'Pacific/Auckland'\nmax_wal_size = 256MB\n")
        self.start()
        self.execute(f"CREATE ROLE {OWNER} LOGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def start(self) -> None:
        """Starts the server and waits until it serves."""
        with (self.path / "log").open("ab") as log:
            self._server = subprocess.Popen(
                self._as_postgres("postgres", "-D", str(self.path / "data")),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + 60
        while not self._ready():
            if self._server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL did not start: {self.log()}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            lines = (self.path / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return lines[:1] == [str(self._server.pid)] and len(lines) > 7 and lines[7].strip() == "ready"

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT closes connections and shuts down, SIGQUIT is a crash, after which the server
        recovers."""
        self._server.send_signal(how)
        self._server.wait(60)

    def close(self) -> None:
        """Ends the server, if it runs, and removes everything."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._server.wait(60)
        self._keeper.wait(60)

    def log(self) -> str:
        """Return the server's log."""
        return (self.path / "log").read_text(errors="replace")

    def url(self, database: str) -> str:
        """The database's URL for a controller."""
        return f"postgresql+asyncpg://{OWNER}@/{database}?host={self.path}"

    @contextmanager
    def database(self, template: str | None = None) -> Iterator[str]:
        """Yield the URL of a new database, empty or a copy of the database `template`; it is removed when the block
        ends."""
        self._made += 1
        name = f"test{self._made}"
        self.create(name, template)
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def create(self, name: str, template: str | None = None) -> None:
        """Makes a database."""
        self.execute(f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {template or 'template0'}")

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Runs a statement as superuser."""

        async def run() -> None:
            connection = await asyncpg.connect(host=str(self.path), user="postgres", database=database)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())

    def tool(self, *words: str) -> None:
        """Run a program that comes with PostgreSQL (`pg_dump`, …) as any machine would run it."""
        done = subprocess.run([self._binaries / words[0], *words[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def _run(self, *words: str) -> None:
        done = subprocess.run(self._as_postgres(*words), capture_output=True, text=True, cwd=self.path, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]}: {done.stderr}")

    def _as_postgres(self, program: str, *words: str) -> list[str]:
        """Return the command line of a program as a user other than root, as PostgreSQL does not run as root."""
        command = [str(self._binaries / program), *words]
        if os.geteuid() != 0:
            return command
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--", *command]
