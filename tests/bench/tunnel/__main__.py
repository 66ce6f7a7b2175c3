"""Run the measurements, keep the figures, and write the page. Needs root, strongSwan and the lab's relay."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

from lab.paths import BUILD
from tests.bench.tunnel import link, page, processors
from tests.bench.tunnel.mesh import mesh
from tests.bench.tunnel.page import Found
from tests.integration.ipsec_site import usable

SIZES = (2, 4, 8, 16, 24)
REKEYS, REKEY_SECONDS = 8, 12.0


def main() -> int:
    """Run the benchmark. Returns 1 if it cannot run here or misses a bar; standard error says which."""
    arguments = _arguments()
    if reason := usable():
        print(f"bench-tunnel: {reason}", file=sys.stderr)
        return 1
    found: Found = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    for name in arguments.only or PARTS:
        before = processors.stolen()
        part = asyncio.run(PARTS[name](arguments))
        stolen = processors.share(before, processors.stolen())
        found[name] = {**part, "load": round(link.load(), 1), "stolen": round(stolen, 2)}
        print(f"{name}: {json.dumps(found[name])}", flush=True)
        arguments.output.write_text(json.dumps(found, indent=2) + "\n")
    if arguments.document:
        arguments.document.write_text(page.page(found))
    missed = page.missed(found)
    for line in missed:
        print(f"bench-tunnel: missed: {line}", file=sys.stderr)
    return 1 if missed else 0


async def _throughput(arguments: argparse.Namespace) -> dict[str, object]:
    """Measure plain and encrypted throughput in turns."""
    plain, encrypted = [], []
    async with link.pair() as two:
        for _ in range(arguments.turns):
            await link.leave(two)
            plain.append(await link.throughput(two, arguments.seconds))
            await link.join(two)
            encrypted.append(await link.throughput(two, arguments.seconds))
    return {
        "plain": [round(one.median, 1) for one in plain],
        "encrypted": [round(one.median, 1) for one in encrypted],
        "plain_busy": [round(one.busy, 2) for one in plain],
        "encrypted_busy": [round(one.busy, 2) for one in encrypted],
        "charon": [round(one.charon, 2) for one in encrypted],
    }


async def _unshaped(arguments: argparse.Namespace) -> dict[str, object]:
    """Measure throughput without a rate limit: the maximum of the machine."""
    async with link.pair(0) as two:
        await link.leave(two)
        plain = await link.throughput(two, arguments.seconds)
        await link.join(two)
        encrypted = await link.throughput(two, arguments.seconds)
    return {"plain": round(plain.median, 1), "encrypted": round(encrypted.median, 1)}


async def _rekey(arguments: argparse.Namespace) -> dict[str, object]:
    async with link.pair() as two:
        setup = await link.join(two)
        made, answered, lost = await link.rekeys(two, REKEYS, REKEY_SECONDS)
    return {"setup_ms": round(setup * 1000), "made": made, "answered": answered, "lost": lost}


async def _dead(arguments: argparse.Namespace) -> dict[str, object]:
    async with link.pair() as two:
        await link.join(two)
        return {"seconds": round(await link.dead(two), 1)}


async def _mesh(arguments: argparse.Namespace) -> dict[str, object]:
    found = [await mesh(size) for size in arguments.sizes]
    return {"meshes": [[m.cloudlets, round(m.seconds, 2), round(m.charons, 2), round(m.agents, 2)] for m in found]}


PARTS: dict[str, Callable[[argparse.Namespace], Coroutine[None, None, dict[str, object]]]] = {
    "throughput": _throughput,
    "unshaped": _unshaped,
    "rekey": _rekey,
    "dead": _dead,
    "mesh": _mesh,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tunnel", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each stream")
    parser.add_argument("--turns", type=int, default=3, help="how often plain and encrypted are measured")
    parser.add_argument("--sizes", type=_sizes, default=SIZES, metavar="N,N,…", help="cloudlets of the meshes")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="just this part; the others stay")
    parser.add_argument("--output", type=Path, default=BUILD / "bench-tunnel.json")
    parser.add_argument("--document", type=Path)
    return parser.parse_args()


def _sizes(text: str) -> Sequence[int]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
