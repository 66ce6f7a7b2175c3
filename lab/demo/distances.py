"""Distances: every agent measures the round trip to the others of its pools, and the controller knows them all."""

import time

from lab.demo.stage import Stage

PATIENCE = 60.0
"""Seconds within which all agents have measured once: new neighbours are probed at once, but not all together."""

TOLERANCE_MS = 10.0
"""Milliseconds that the relays, the daemons of a busy machine and jitter may add to the lines' own delay."""


def play(stage: Stage) -> None:
    """Wait until all pairs have been measured, show the matrix, and compare it with the topology's delays."""
    stage.title("round trips between the members of pools, measured by their agents")
    cloudlets = {vcp: [stage.cloudlet(m).name for m in members] for vcp, members in stage.pools().items()}
    wanted = {(a, b) for names in cloudlets.values() for a in names for b in names if a != b}
    began = time.monotonic()
    while True:
        medians = stage.rest.get("/neighbours/matrix")["median_ms"]
        found = {(a, b): rtt for a, row in medians.items() for b, rtt in row.items() if rtt is not None}
        if wanted <= found.keys() or time.monotonic() - began > PATIENCE:
            break
        time.sleep(0.5)
    seconds = time.monotonic() - began
    stage.weft("neighbour", "matrix")
    off = {pair: found[pair] - 2 * stage.region.plan.delay_ms(*pair) for pair in wanted & found.keys()}
    worst = max(map(abs, off.values()), default=0.0)
    missing = sorted(f"{a}→{b}" for a, b in wanted - found.keys())
    figure = f"{len(off)} of {len(wanted)} pairs, at most {worst:.1f} ms from the lines' own delay" + (
        f"; missing: {', '.join(missing)}" if missing else ""
    )
    stage.verdict.add("neighbours measured", not missing and worst <= TOLERANCE_MS, figure, seconds=seconds)
