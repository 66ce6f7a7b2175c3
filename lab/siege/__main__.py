"""Lets everybody attack a region at once; no legitimate user or device may notice: `make siege`."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from lab.paths import BIN
from lab.program import run
from lab.siege import page
from lab.siege.attack import program
from lab.siege.bed import DEVICE, PE, PINGS, ROUTE_DISTINGUISHER, ROUTE_TARGET, STRANGERS, VICTIM, Bed, octets
from lab.siege.phase import measure
from lab.siege.verdict import wrong

BEFORE = 60.0
"""Most seconds that are measured without a siege."""


def main() -> int:
    """Run the siege. Exit code 1: a legitimate user or device noticed, or an attack did not happen."""
    parser = argparse.ArgumentParser(prog="make siege", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the siege lasts [10]")
    parser.add_argument("--attack", nargs="*", default=["*"], help="names of attackers, as shell patterns [*]")
    parser.add_argument(
        "--hurting", action="store_true", help="well-formed routes that reset FRR are announced as well"
    )
    parser.add_argument("--output", type=Path, default=Path("build/siege.json"), help="all figures, as JSON")
    parser.add_argument("--document", type=Path, help="a page whose figures are replaced")
    arguments = parser.parse_args()
    if arguments.document and not arguments.document.exists():
        parser.error(f"--document {arguments.document}: there is no such page")
    seconds = arguments.minutes * 60
    with Bed.made() as bed:
        token = str(bed.rest.post("/tokens", {"name": "siege", "role": "operator", "seconds": 86_400})["token"])
        print(f"{min(BEFORE, seconds):.0f} s without a siege", flush=True)
        base = measure(bed, min(BEFORE, seconds), [], token)
        bed.clear()
        attacks = [
            one
            for one in _attacks(bed, hurting=arguments.hurting)
            if any(fnmatchcase(one[0], some) for some in arguments.attack)
        ]
        print(f"{seconds:.0f} s of siege by {', '.join(name for name, _, _ in attacks)}", flush=True)
        siege = measure(bed, seconds, attacks, token)
    found = wrong(base, siege)
    page.keep(base, siege, found, arguments.output)
    if arguments.document:
        page.write(base, siege, found, arguments.document)
    print(page.text(base, siege, found, "here"))
    return 1 if found else 0


def _attacks(bed: Bed, *, hurting: bool) -> Sequence[tuple[str, str, Sequence[str]]]:
    """Return each attacker's name, node and command line."""
    api = (bed.controller, str(bed.plain), str(bed.tls))
    hostile, lan = bed.endpoint(PE), bed.endpoint(VICTIM)
    agent = (f"https://{bed.controller}:{bed.tls}/api/v1/", PE, hostile["name"], str(bed.state(PE)))
    victim = PINGS[0][1]
    device = (lan["gateway"], lan["gateway6"], bed.region.address(victim), bed.region.address6(victim))
    pe = ["-from", hostile["vtep"], "-to", ",".join(bed.servers), "-asn", str(bed.region.topology.asn)]
    pe += ["-rd", octets(hostile["rd"], ROUTE_DISTINGUISHER), "-rt", octets(hostile["rt"], ROUTE_TARGET)]
    pe += ["-hurting"] if hurting else []
    return [
        ("strangers", STRANGERS, program("strangers", *api)),
        ("a PE", PE, [str(BIN / "hostile-pe"), *pe]),
        ("an agent", PE, program("agent", *agent)),
        ("a device", bed.region.node(DEVICE), program("device", *device)),
    ]


if __name__ == "__main__":
    run(main)
