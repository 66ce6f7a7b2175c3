"""PgBouncer between a controller and the tests' own PostgreSQL server: on a unix socket, removed when its block
ends."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.postgres import OWNER, Cluster

PORT = 6432
SETTINGS = (
    "application_name", "jit", "random_page_cost", "statement_timeout", "lock_timeout", "tcp_keepalives_idle",
    "idle_in_transaction_session_timeout", "tcp_keepalives_interval", "tcp_keepalives_count",
)  # fmt: skip
"""The startup parameters of a controller's sessions."""


@contextmanager
def pooler(cluster: Cluster, mode: str, ignored: tuple[str, ...] = SETTINGS, **more: str) -> Iterator[str]:
    """Yield the part of a database URL that leads through PgBouncer in that mode: `host=…&port=…`."""
    directory = cluster.path / f"pgbouncer-{time.monotonic_ns()}"
    directory.mkdir()
    settings = {
        "pool_mode": mode,
        "unix_socket_dir": str(directory),
        "listen_addr": "",
        "listen_port": str(PORT),
        "auth_type": "trust",
        "auth_file": str(directory / "users"),
        "logfile": str(directory / "log"),
        "default_pool_size": "50",
        "ignore_startup_parameters": ",".join(ignored),
        **more,
    }
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (directory / "ini").write_text(f"[databases]\n* = host={cluster.path}\n[pgbouncer]\n{lines}")
    (directory / "users").write_text(f'"{OWNER}" ""\n')
    command = ["/usr/sbin/pgbouncer", "--quiet", str(directory / "ini")]
    if os.geteuid() == 0:  # it does not run as root
        for path in (directory, directory / "ini", directory / "users"):
            shutil.chown(path, "postgres", "postgres")
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--", *command]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while not (directory / f".s.PGSQL.{PORT}").exists():
            log = (directory / "log").read_text() if (directory / "log").exists() else ""
            assert process.poll() is None and time.monotonic() < until, f"PgBouncer did not start: {log}"
            time.sleep(0.02)
        yield f"host={directory}&port={PORT}"
    finally:
        process.kill()
        process.wait(20)
        shutil.rmtree(directory)
