"""Joins and leaves, one after the other, as a user notices them: `make bench-join`.

For a VPLS pool and an EVPN pool of the demo's region this measures the time from the REST call to the first ping
across, p50 and p99, and shows the round trip beside it. For every leave it checks whether a frame of the leaver passed
the core after the reply.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.demo.moves import CLOUDNET_SECONDS, JOIN_TARGET_MS
from lab.demo.stage import Stage
from lab.demo.verdict import Verdict
from lab.errors import LabError
from lab.membership import JoinTiming, LeaveTiming, timed_join, timed_leave
from lab.paths import ROOT
from lab.percentile import percentile
from lab.program import run
from lab.region import Region
from lab.rest import Rest

TOPOLOGY = ROOT / "lab/topologies/demo.yaml"


@dataclass
class Series:
    """Joins and leaves of one endpoint. `witness` is a member that stays."""

    name: str
    vcp: str
    endpoint: str
    witness: str
    joins: list[JoinTiming] = field(default_factory=list)
    leaves: list[LeaveTiming] = field(default_factory=list)

    def summary(self) -> dict[str, object]:
        """Return the figures in ms; frames are counted over all leaves."""
        first = [timing.first_reply_ms for timing in self.joins]
        rtt = statistics.median(timing.rtt_ms for timing in self.joins)
        return {
            "flavour": self.name,
            "joins": len(self.joins),
            "first_ping_ms_p50": percentile(first, 50),
            "first_ping_ms_p99": percentile(first, 99),
            "call_ms_p50": percentile([timing.call_ms for timing in self.joins], 50),
            "call_ms_p99": percentile([timing.call_ms for timing in self.joins], 99),
            "rtt_ms": rtt,
            "target_ms": JOIN_TARGET_MS + rtt,
            "leaves": len(self.leaves),
            "leave_call_ms_p50": percentile([timing.call_ms for timing in self.leaves], 50),
            "leave_call_ms_p99": percentile([timing.call_ms for timing in self.leaves], 99),
            "frames_seen_before_reply": sum(timing.frames - timing.late_frames for timing in self.leaves),
            "frames_after_reply": sum(timing.late_frames for timing in self.leaves),
        }


def measure(stage: Stage, series: Series) -> None:
    """Measure one join and one leave."""
    region, rest = stage.region, stage.rest
    vm, device = stage.vm(series.endpoint).name, stage.device(series.endpoint).name
    witness_device, witness_vm = stage.device(series.witness).name, stage.vm(series.witness).name
    vtep = stage.cloudlet(series.endpoint).vtep
    joined = timed_join(region, rest, series.vcp, series.endpoint, witness_device, region.address(vm))
    left = timed_leave(region, rest, series.vcp, series.endpoint, device, region.address(witness_vm), vtep)
    for what, answer in (("join", joined.answer), ("leave", left.answer)):
        if not answer["in_force"]:
            raise LabError(f"a {what} of {series.endpoint} was not in force when it was answered: {json.dumps(answer)}")
    series.joins.append(joined)
    series.leaves.append(left)


def document(summaries: Sequence[dict[str, object]], about: str) -> str:
    """Return the result as a page."""
    lines = [
        "# Joins and leaves, measured",
        "",
        "Made by `make bench-join`; do not edit. " + about,
        "CloudNet (section 4.2) reports 24.24 s for adding a site to a VPN. A join's floor is one round trip for the",
        "controller's word to the cloudlets plus one for the ping. A leave is answered when the kernels confirmed it.",
        "",
        "| | " + " | ".join(str(summary["flavour"]) for summary in summaries) + " |",
        "| --- |" + " --- |" * len(summaries),
    ]
    for key in summaries[0]:
        if key != "flavour":
            cells = [
                f"{value:.1f}" if isinstance(value := summary[key], float) else str(value) for summary in summaries
            ]
            lines.append(f"| {key.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the benchmark. Exit codes: 0 all targets met, 1 not, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="make bench-join", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="joins and leaves per flavour [100]")
    parser.add_argument("--output", type=Path, default=Path("build/bench-join.json"), help="figures as JSON")
    parser.add_argument("--document", type=Path, help="figures as a Markdown page")
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error("--count: at least 1")
    if os.geteuid() != 0:
        print("the lab makes network namespaces; run it as root", file=sys.stderr)
        return 1
    runs = [Series("VPLS", "blue", "c5-lan", "c1-lan"), Series("EVPN", "amber", "c7-lan", "c6-lan")]
    verdict = Verdict()
    region = Region.load(TOPOLOGY)
    with region.occupied(print), Rest(timeout=120) as rest:
        stage = Stage(region, rest, verdict)
        for phase in (region.build, region.enrol, region.apply_policy, region.lease):
            phase(print)
        rest.delete("/vcps/amber/members/c7-lan")
        for number in range(arguments.count):
            for series in runs:
                measure(stage, series)
            print(f"   {number + 1} of {arguments.count}: " + _latest(runs), flush=True)
    summaries = [series.summary() for series in runs]
    for series, summary in zip(runs, summaries, strict=True):
        p50, p99, target = (float(str(summary[key])) for key in ("first_ping_ms_p50", "first_ping_ms_p99", "target_ms"))
        figure = f"p50 {p50:.0f} ms, p99 {p99:.0f} ms (target p99 < {target:.0f} ms; CloudNet {CLOUDNET_SECONDS} s)"
        verdict.add(f"{series.name}: REST call to first ping", p99 < target, figure)
        late, seen = summary["frames_after_reply"], summary["frames_seen_before_reply"]
        verdict.add(f"{series.name}: frames after a leave", late == 0, f"{late} after the reply, {seen} before it")
    verdict.write(arguments.output, series=summaries)
    if arguments.document:
        about = f"{arguments.count} joins and leaves per flavour, {os.cpu_count()} cores, topology {TOPOLOGY.name}."
        arguments.document.write_text(document(summaries, about))
    return 0 if verdict.ok else 1


def _latest(runs: Sequence[Series]) -> str:
    return ", ".join(f"{series.name} {series.joins[-1].first_reply_ms:.0f} ms" for series in runs)


if __name__ == "__main__":
    run(main)
