"""The agent's prober as a process of its own, to run in a namespace: prints the result of each round as a JSON line.

python -m tests.integration.neighbour_prober CANDIDATES [STALL]   (a candidates document; seconds for which the event
loop is blocked again and again)
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict

from agents.neighbours.prober import Prober
from agents.neighbours.samples import Round
from controller.wire.neighbours import Candidates


async def main(document: str, stall: float) -> None:
    """Probe until killed."""

    def found(neighbour: str, round: Round, first: bool) -> None:
        print(json.dumps({"neighbour": neighbour, "first": first, **asdict(round)}), flush=True)

    prober = Prober(found)
    prober.intend(Candidates.model_validate_json(document))
    running = asyncio.create_task(prober.run())
    while stall and not running.done():
        await asyncio.sleep(0.001)
        time.sleep(stall)  # noqa: ASYNC251 - that is the point
    await running


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
