"""The cost of the parts: resident memory, and an idle agent's share of a core."""

import time

from lab.demo.stage import Stage

IDLE_SECONDS = 20.0
MIB = 2**20
LIMITS_MIB = {"agent": 100, "controller": 200, "route server": 50}
IDLE_LIMIT_PERCENT = 1.0


def play(stage: Stage) -> None:
    """Measure while nothing happens."""
    stage.title(f"footprint, {IDLE_SECONDS:g} s idle")
    agents = {name: row for name, row in stage.region.processes.items() if name.endswith("-agent")}
    before = {name: process.cpu_seconds() for name, process in agents.items()}
    time.sleep(IDLE_SECONDS)
    share = {name: (process.cpu_seconds() - before[name]) / IDLE_SECONDS * 100 for name, process in agents.items()}
    processes = stage.region.processes
    groups = {
        "agent": list(agents.values()),
        "controller": [processes["controller"]],
        "route server": [processes[name] for name in stage.region.topology.route_servers],
    }
    for kind, members in groups.items():
        largest = max(process.resident_bytes() for process in members) / MIB
        limit = LIMITS_MIB[kind]
        figure = f"{largest:.0f} MiB resident at most of {len(members)} (limit {limit})"
        stage.verdict.add(f"{kind} memory", 0 < largest < limit, figure, resident_mib=largest)
    mean = sum(share.values()) / len(share)
    stage.verdict.add(
        "idle agent",
        mean < IDLE_LIMIT_PERCENT,
        f"{mean:.2f} % of a core on average, {max(share.values()):.2f} % at most (limit {IDLE_LIMIT_PERCENT:g} %)",
        percent=share,
    )
