"""`python -m tests.ui.large_route_server`: the fake route server of a large region, in a process of its own, so that
its work does not count as the controller's. Prints its address, and ends with its standard input."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.ui.large_region import ROUTES
from tests.ui.region import ShownRouteServer, routes
from tests.unit.controller.fake_routeserver import served

NAME = "rs1"


@asynccontextmanager
async def beside() -> AsyncIterator[ShownRouteServer]:
    """Yield a route server that another process serves; its own lists show nothing of what happens there."""
    command = (sys.executable, "-m", __spec__.name)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        server = ShownRouteServer(NAME)
        async with asyncio.timeout(60):
            server.url = (await process.stdout.readline()).decode().strip()
        yield server
    finally:
        process.stdin.close()
        await process.wait()


async def main() -> None:
    """Serve until the standard input ends."""
    server = ShownRouteServer(NAME)
    server.routes = routes(ROUTES)
    async with served(server):
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
