"""The cost of the qemu driver's ways of moving memory, side by side in one run: `python -m lab.bench_qemu`.

One guest moves to and fro between two hosts over links of one rate, and its memory is written all the time: over one
path and two, plain, with zstd, with xbzrle, and by weft-transfer ("thin"). Times are those that the driver's caller
sees.
"""

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import monotonic

from controller.wire.machines import Disk, Machine
from controller.wire.moves import Tuning
from lab.errors import LabError
from lab.hosts import Host, Hosts, last
from lab.paths import BUILD
from lab.program import run

PLAIN, COMPRESSED = Tuning(compression=False), Tuning()
WAYS: tuple[tuple[str, int, Tuning, dict[str, str]], ...] = (
    ("one path", 1, PLAIN, {}),
    ("two paths", 2, PLAIN, {}),
    ("one path, zstd", 1, COMPRESSED, {"compression": "zstd"}),
    ("two paths, zstd", 2, COMPRESSED, {"compression": "zstd"}),
    ("one path, xbzrle", 1, COMPRESSED, {"compression": "xbzrle"}),
    ("one path, thin", 1, COMPRESSED, {"compression": "thin"}),
    ("two paths, thin", 2, COMPRESSED, {"compression": "thin"}),
)


@dataclass(frozen=True)
class Move:
    """`seconds` are from the order to prepare until the guest runs at the destination. The pause is in milliseconds,
    without the time that the orders take. `wire` is in bytes."""

    seconds: float
    paused_ms: float
    wire: int
    rounds: int


def move(here: Host, there: Host, machine: Machine, name: str, tuning: Tuning) -> Move:
    began = monotonic()
    target = there.do(there.driver.prepare(machine, there.attachment, "a", name, tuning))
    if machine.disk is not None:
        here.do(last(here.driver.disk(machine.name, name, target, tuning)), 600)
    copied = here.do(last(here.driver.memory(machine.name, name, target, tuning)), 600)
    figures = here.do(here.driver.switchover(machine.name, name))
    there.do(there.driver.activate(machine.name, name))
    seconds = monotonic() - began
    here.do(here.driver.discard(machine.name))
    return Move(seconds, figures.paused_ms or 0.0, (copied.wire or 0) + (figures.wire or 0), figures.rounds or 0)


def measure(
    images: Path, arguments: argparse.Namespace, paths: int, tuning: Tuning, options: dict[str, str]
) -> list[Move]:
    macs = ("52:54:00:00:00:0a", "52:54:00:00:00:0b")
    machine = Machine(
        name="vm1",
        driver="qemu",
        image="lab",
        memory=arguments.memory << 20,
        vcpus=1,
        macs=macs,
        disk=Disk(base="lab", bytes=512 << 20) if arguments.disk else None,
    )
    with tempfile.TemporaryDirectory() as folder:
        hosts = Hosts(Path(folder), images, (arguments.rate,) * paths, options, arguments.rtt)
        try:
            here, there = hosts.one, hosts.two
            here.do(here.driver.start(machine, here.attachment, "a"))
            start = ("memory", "start", f"mib={arguments.working}", f"rate={arguments.dirty}")
            here.do(here.driver.guest("vm1", "weft-work", "ask", "127.0.0.1", *start, seconds=90))
            found = []
            for number in range(arguments.moves):
                found.append(move(here, there, machine, f"m{number}", tuning))
                here, there = there, here
                said = here.do(
                    here.driver.guest("vm1", "weft-work", "ask", "127.0.0.1", "memory", "verdict", seconds=90)
                )
                if json.loads(said)["wrong"]:
                    raise LabError(f"the guest's memory was corrupted: {said}")
            return found
        finally:
            hosts.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.bench_qemu", description=__doc__)
    parser.add_argument("--rate", type=int, default=60, help="Mbit/s of each path (60)")
    parser.add_argument("--rtt", type=float, default=0.0, help="ms of the round trip (0)")
    parser.add_argument("--disk", action="store_true", help="with a disk, which is copied too")
    parser.add_argument("--memory", type=int, default=256, help="MiB of the guest (256)")
    parser.add_argument("--working", type=int, default=32, help="MiB that are written all the time (32)")
    parser.add_argument("--dirty", type=int, default=1, help="MiB a second that are written (1)")
    parser.add_argument("--moves", type=int, default=4, help="of each kind (4)")
    parser.add_argument("--images", type=Path, default=BUILD / "guests", help="where the lab's guest is")
    parser.add_argument("--output", type=Path, help="figures as JSON")
    arguments = parser.parse_args()
    results: dict[str, list[Move]] = {}
    images = arguments.images.resolve()
    if not (images / "lab" / "kernel").is_file():
        raise LabError(f"there is no guest in {images}", "make guests builds it")
    print(f"| {'way':<18} | seconds | pause ms | MB on the wire | rounds |")
    print(f"| {'-' * 18} | ------: | -------: | -------------: | -----: |")
    for name, paths, tuning, options in WAYS:
        found = results[name] = measure(images, arguments, paths, tuning, options)
        middle = [median(getattr(one, key) for one in found) for key in ("seconds", "paused_ms", "wire", "rounds")]
        print(
            f"| {name:<18} | {middle[0]:7.1f} | {middle[1]:8.0f} | {middle[2] / 1e6:14.1f} | {middle[3]:6.0f} |",
            flush=True,
        )
    if arguments.output:
        kept = {
            "arguments": {
                "rate": arguments.rate,
                "rtt": arguments.rtt,
                "disk": arguments.disk,
                "memory": arguments.memory,
                "dirty": arguments.dirty,
            }
        }
        moves = {name: [asdict(one) for one in found] for name, found in results.items()}
        arguments.output.write_text(json.dumps({**kept, "moves": moves}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    run(main)
