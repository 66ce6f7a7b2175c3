"""The reconciler without a charon."""

import asyncio
from pathlib import Path

from agents.ipsec.strongswan import Strongswan


async def test_it_ends_when_it_is_told_to_even_as_charon_fails(tmp_path: Path) -> None:
    for attempt in range(60):
        task = asyncio.create_task(Strongswan(tmp_path / "none", tmp_path, lambda: None).run())
        for _ in range(attempt % 20):
            await asyncio.sleep(0)
        await asyncio.sleep(attempt % 3 * 0.0005)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=2)
        assert done and task.cancelled()
