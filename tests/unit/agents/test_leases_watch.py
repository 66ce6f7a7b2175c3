"""If the work for a LAN's leases fails, the agent ends, and systemd starts it again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agents.leases import source
from agents.leases.source import Leases
from tests.unit.agents.desires import desired, endpoint


async def test_an_agent_does_not_go_on_without_a_lan_s_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        async def run(self) -> None:
            raise RuntimeError("this was not foreseen")

        async def publish(self) -> None: ...

    monkeypatch.setattr(source, "LeasedLan", Failing)
    leases = Leases(None, tmp_path)  # type: ignore[arg-type]
    await leases.follow(desired(endpoint(1)))
    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError, match="not foreseen"):
            await leases.watch()
