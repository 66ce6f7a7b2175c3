"""A controller as a process of its own over a database that already has cloudlets in it, and the CPU and memory it
uses."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.core.tokens import digest
from controller.db.cloudlets import CloudletRow
from controller.db.engine import Database
from controller.db.schema import upgrade

TICKS = os.sysconf("SC_CLK_TCK")


def name(number: int) -> str:
    """Return a cloudlet's name."""
    return f"c{number:05}"


def credential(number: int) -> str:
    """Return the credential of a cloudlet's agent."""
    return f"credential-of-{number}"


def vtep(number: int) -> str:
    """Return a cloudlet's VTEP address."""
    return f"100.{64 + number // 65536}.{number // 256 % 256}.{number % 256}"


async def populate(url: str, cloudlets: int, apart: float, across: int) -> None:
    """Make the tables, and active cloudlets on a grid of places: `across` in a row, `apart` degrees from one to the
    next."""
    database = Database(url)
    await upgrade(database)
    async with database.write() as session:
        session.add_all(
            CloudletRow(
                name=name(n),
                pe="vpls",
                vtep=vtep(n),
                state="active",
                version=1,
                credential=digest(credential(n)),
                latitude=45.0 + n // across * apart,
                longitude=-75.0 + n % across * apart,
                labels={},
            )
            for n in range(cloudlets)
        )
    await database.close()


@dataclass
class Controller:
    """A controller that runs. `seconds` is the CPU time that all threads of its process have used."""

    process: subprocess.Popen[str]
    url: str

    @property
    def seconds(self) -> float:
        return cpu(self.process.pid)

    @property
    def resident_mb(self) -> float:
        """The process's memory in MB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu(pid: int) -> float:
    """Return the seconds of user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def servers_cpu(pids: list[int]) -> float:
    """Return the seconds of user and system time of several processes, and of the children that they have waited
    for."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        total += sum(map(int, fields[11:15])) / TICKS
    return total


@contextmanager
def controller(database_url: str, directory: Path) -> Iterator[Controller]:
    """Start a controller, yield it, and end it with the block."""
    (directory / "admin").write_text("an-admin-token\n")
    environment = os.environ | {
        "WEFT_DATABASE_URL": database_url,
        "WEFT_LISTEN": "127.0.0.1:0",
        "WEFT_ADMIN_TOKEN_FILE": str(directory / "admin"),
    }
    with (directory / "controller.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "controller.main"], env=environment, stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"listening on (\S+)", line)
        if found is None:
            raise RuntimeError(f"the controller did not start: {(directory / 'controller.log').read_text()}")
        yield Controller(process, f"http://{found[1]}")
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


def fill(url: str, cloudlets: int, apart: float, across: int) -> None:
    """Call `populate` without an event loop."""
    asyncio.run(populate(url, cloudlets, apart, across))


def percentile(values: list[float], share: float) -> float:
    """Return a percentile by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def today() -> str:
    """Return the date in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime())
