"""`python -m tests.unit.agents.moves.process CLOUDLET DIRECTORY ORDER`: one agent's part in moves as a process, which
can be killed. It carries out one order; the simulated controller accepts all its reports."""

import asyncio
import sys
from pathlib import Path

from controller.wire.moves import Order
from tests.unit.agents.moves.region import Cloudlet


async def main() -> None:
    """Carry out the order until killed."""
    name, directory, order = sys.argv[1:]
    cloudlet = Cloudlet(name, Path(directory))
    cloudlet.start()
    cloudlet.order(Order.model_validate_json(order))
    await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main())
