"""`python -m lab.demo`: builds three regions one after the other, shows the scenes in each, removes it, and prints the
verdict."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from lab.containers.build import build as build_containers
from lab.demo import answers, container, distances, footprint, moves, outages, pairs, reach, walk
from lab.demo.stage import Stage
from lab.demo.verdict import Verdict
from lab.errors import LabError
from lab.guests.build import build
from lab.paths import GUESTS, ROOT
from lab.program import run
from lab.region import Region
from lab.rest import Rest


def network(stage: Stage) -> None:
    """Show pools, addresses, answers and outages, from an empty region on."""
    region = stage.region
    stage.title("a region: namespaces, WAN, route servers, controller, PE daemons")
    region.build(stage.note)
    stage.title("cloudlets enrol over REST")
    began = time.monotonic()
    region.enrol(stage.note)
    count = len(region.topology.cloudlets)
    seconds = time.monotonic() - began
    stage.verdict.add("enrolment", True, f"{count} cloudlets, all BGP sessions up in {seconds:.1f} s", seconds=seconds)
    stage.title("policy")
    done = stage.weft("policy", "apply", str(region.topology.policy))
    pools = "; ".join(f"{vcp}: {' '.join(members)}" for vcp, members in stage.pools().items())
    stage.verdict.add("policy applied", done.returncode == 0, pools)
    pairs.play(stage)
    distances.play(stage)
    reach.within(stage)
    reach.between(stage)
    reach.through(stage)
    moves.join(stage, "blue", "c5-lan", "c1-lan")
    answers.explain(stage, "c1-lan", arrived="c5-lan", absent="c3-lan")
    answers.doctor(stage, by_hand="c5-lan")
    outages.play(stage)
    moves.leave(stage, "blue", "c5-lan", "c1-lan")
    moves.leave(stage, "amber", "c7-lan", "c6-lan")
    moves.join(stage, "amber", "c7-lan", "c6-lan")
    answers.doctor(stage)
    footprint.play(stage)


def machine(stage: Stage) -> None:
    """Show a VM that boots, and follows its device."""
    stage.title("another region, with a VM that boots")
    build(GUESTS, stage.note)
    _booted(stage)
    walk.play(stage)


def service(stage: Stage) -> None:
    """Show a container that follows its device."""
    stage.title("another region, with a container")
    build_containers(GUESTS, stage.note)
    _booted(stage)
    container.play(stage)


def _booted(stage: Stage) -> None:
    """Build the region, and start its machines."""
    region = stage.region
    for phase in (region.build, region.enrol, region.apply_policy, region.lease, region.boot):
        phase(stage.note)


ACTS: tuple[tuple[Path, Callable[[Stage], None]], ...] = (
    (ROOT / "lab/topologies/demo.yaml", network),
    (ROOT / "lab/topologies/move.yaml", machine),
    (ROOT / "lab/topologies/container.yaml", service),
)


def main() -> int:
    """Run the demo. Exit codes: 0 all checks hold, 1 one failed or a region did not come up, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/demo.json"), help="where the verdict goes, as JSON")
    parser.add_argument("--keep", action="store_true", help="leave the first region up in the end, with its web UI")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("the demo makes network namespaces; run it as root", file=sys.stderr)
        return 1
    verdict = Verdict()
    began = time.monotonic()
    for topology, act in ACTS:
        region = Region.load(topology)
        try:
            with region.occupied(print), Rest(timeout=120) as rest:
                act(Stage(region, rest, verdict))
        except LabError as error:
            verdict.add(f"the act '{act.__name__}' ran to its end", False, str(error))
    seconds = time.monotonic() - began
    Console().print(verdict.table(f"Weft demo, {seconds:.0f} s"))
    topologies = [str(topology.relative_to(ROOT)) for topology, _ in ACTS]
    verdict.write(arguments.output, seconds=seconds, topologies=topologies)
    print(f"written: {arguments.output}")
    if arguments.keep:
        Region.load(ACTS[0][0]).up(print, wait_seconds=600)
        print("make lab-down removes it")
    else:
        print("make demo KEEP=1 leaves a region up, and says where its web UI is")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    run(main)
