"""`python -m lab.demo`: build a region, play the scenes, print the verdict, remove the region."""

import argparse
import os
import sys
import time
from pathlib import Path

from rich.console import Console

from lab.demo import answers, footprint, moves, outages, pairs, reach
from lab.demo.stage import Stage
from lab.demo.verdict import Verdict
from lab.errors import LabError
from lab.paths import ROOT
from lab.region import Region
from lab.rest import Rest

TOPOLOGY = ROOT / "lab/topologies/demo.yaml"


def play(stage: Stage) -> None:
    """All scenes in order, from an empty region."""
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
    reach.within(stage)
    reach.between(stage)
    reach.through(stage)
    moves.join(stage, "blue", "c5-lan", "c1-lan")
    answers.explain(stage, "c1-lan", arrived="c5-lan", absent="c3-lan")
    answers.doctor(stage)
    outages.play(stage)
    moves.leave(stage, "blue", "c5-lan", "c1-lan")
    moves.leave(stage, "amber", "c7-lan", "c6-lan")
    moves.join(stage, "amber", "c7-lan", "c6-lan")
    answers.doctor(stage)
    footprint.play(stage)


def main() -> int:
    """Exit codes: 0 all checks hold, 1 one failed or the region did not come up, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/demo.json"), help="where the verdict goes, as JSON")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("the demo makes network namespaces; run it as root", file=sys.stderr)
        return 1
    verdict = Verdict()
    began = time.monotonic()
    region = Region.load(TOPOLOGY)
    try:
        with region.occupied(print), Rest(timeout=120) as rest:
            play(Stage(region, rest, verdict))
    except LabError as error:
        verdict.add("the demo ran to its end", False, str(error))
    except KeyboardInterrupt:
        print("interrupted; the region is removed", file=sys.stderr)
        return 130
    seconds = time.monotonic() - began
    Console().print(verdict.table(f"Weft demo, {seconds:.0f} s"))
    verdict.write(arguments.output, seconds=seconds, topology=str(TOPOLOGY.relative_to(ROOT)))
    print(f"written: {arguments.output}")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main())
