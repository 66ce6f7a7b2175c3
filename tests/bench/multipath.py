"""How long the swap of addresses takes, and what an application sees of it: `python -m tests.bench.multipath [MOVES]`.

Network namespaces, veth, and the kernel's own Multipath TCP; the guest answers at once. Needs root.
"""

import asyncio
import sys
import time
from collections import defaultdict
from statistics import median

from agents.multipath import Multipath
from controller.wire.machines import Nic
from controller.wire.moves import Act
from tests.integration.multipath_guest import Machines, order
from tests.integration.multipath_net import Net, Stream, net

_ACTS: tuple[Act, ...] = ("activate", "join", "leave")


async def measure(place: Net, moves: int) -> tuple[dict[str, list[float]], Stream]:
    """Return the seconds of each act, and the stream that ran meanwhile. `stall` is the longest block of each move."""
    machines, seconds = Machines(place), defaultdict[str, list[float]](list)
    stream = await asyncio.to_thread(Stream, place)
    multipath = Multipath({"c1-lan": "lan1", "c2-lan": "lan2"}.get)
    for number in range(moves):
        to, serving = 2 - number % 2, "ab"[number % 2]
        place.walk(to, joins=True)
        await asyncio.to_thread(stream.flows)
        place.migrate(to)
        machines.at = to
        quiet = len(stream.stalls)
        began = time.monotonic()
        for act in _ACTS:
            before = time.monotonic()
            with place.gate.entered():
                switch = multipath.switch(machines.hypervisor)
                await getattr(switch, act)(order(act, to, _nic(serving), linger=0.2))
            seconds[act].append(time.monotonic() - before)
        seconds["all"].append(time.monotonic() - began)
        await asyncio.to_thread(stream.flows)
        seconds["stall"].append(max(lasted for _, lasted in stream.stalls[quiet:]))
    multipath.close()
    await asyncio.to_thread(stream.end)
    return seconds, stream


def _nic(text: str) -> Nic:
    return "a" if text == "a" else "b"


def main() -> None:
    """Prints a table."""
    moves = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with net() as place:
        seconds, stream = asyncio.run(measure(place, moves))
    print(f"{moves} moves, {stream.octets} octets compared, error: {stream.error or 'none'}")
    print("| ms | median | worst |\n| --- | --- | --- |")
    for what, values in seconds.items():
        print(f"| {what} | {median(values) * 1000:.0f} | {max(values) * 1000:.0f} |")


if __name__ == "__main__":
    main()
