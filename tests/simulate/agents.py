"""Simulated agents: each reads its desired state in its wire format, and reports a kernel that agrees with it."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from controller.core.desired import desired
from controller.region import Region
from controller.wire.desired import Desired
from controller.wire.reports import Report
from tests.kernels import kernel


async def follow(region: Region, name: str) -> None:
    """Run one agent until cancelled."""
    with region.agents.registry.attend(name) as wake:
        while True:
            wake.clear()
            document = desired(region.intent, region.intent.cloudlets[name], region.fabric).model_dump_json()
            said = kernel(Desired.model_validate_json(document)).model_dump_json()
            region.agents.registry.report(Report.model_validate_json(said))
            await wake.wait()


@asynccontextmanager
async def attending(region: Region, names: Iterable[str]) -> AsyncIterator[None]:
    """Run the agents of these cloudlets until the block ends."""
    tasks = [asyncio.create_task(follow(region, name)) for name in names]
    await asyncio.sleep(0)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
