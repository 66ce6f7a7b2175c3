"""A database that is restored from a copy, as an operator restores it."""

import asyncio
import shutil
from pathlib import Path

from sqlalchemy import make_url

from tests.postgres import OWNER, Cluster


class Copies:
    """Copies of one database while no controller runs on it."""

    def __init__(self, url: str, directory: Path, cluster: Cluster | None) -> None:
        self._name = make_url(url).database or ""
        self._url = url.replace("+asyncpg", "")
        self._copy = directory / "copy"
        self._cluster = cluster

    async def keep(self) -> None:
        """Make a copy."""
        if self._cluster:
            await asyncio.to_thread(self._cluster.tool, "pg_dump", "-Fc", "-f", str(self._copy), self._url)
        else:
            shutil.copy(self._name, self._copy)

    async def put_back(self) -> None:
        """Restore the database from the copy."""
        if self._cluster:
            await asyncio.to_thread(self._restore, self._cluster)
            return
        for beside in Path(self._name).parent.glob(f"{Path(self._name).name}-*"):
            beside.unlink()
        shutil.copy(self._copy, self._name)

    def _restore(self, cluster: Cluster) -> None:
        cluster.execute(f"DROP DATABASE {self._name}")
        cluster.execute(f"CREATE DATABASE {self._name} OWNER {OWNER} TEMPLATE template0")
        cluster.tool("pg_restore", "--exit-on-error", "--no-owner", "-d", self._url, str(self._copy))
