"""docs/reports/bench-tunnel.md, made from the measurements. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

Found = dict[str, Mapping[str, Any]]
"""The measurements by part of the benchmark."""

HEAD = """# What encrypted tunnels cost

Written by `make bench-tunnel`: two charons (strongSwan, ESP in user space: `kernel-libipsec`) in namespaces of one
machine, with the lab's relay between them: 350 Mbit/s, 25 ms one way, and room for 1,000 packets that wait. One TCP
stream over VXLAN, plain (MTU 1450) and encrypted (MTU 1350) in turns; medians of its seconds without the first ten.
Congestion control is CUBIC. Both ends, the relay and the stream share the machine's processors. The load is that of the
last minute, at the end of the part; stolen is the processor time that the machine's own host gave to others meanwhile.
"""

MESH = """\
All cloudlets want a tunnel to all others in the same moment: a charon each, on one bridge without a delay; the
agents' code for tunnels, for all of them, in one process, without a controller."""


@dataclass(frozen=True)
class Row:
    """A line of the table; `met` tells whether it meets its bar, None if it has no bar."""

    what: str
    bar: str
    measured: str
    met: bool | None = None


def missed(found: Found) -> list[str]:
    """Return the missed bars in words."""
    rows = (row(found[name]) for name, row in ROWS.items() if name in found)
    return [f"{row.what}: {row.measured} ({row.bar})" for row in rows if row.met is False]


def page(found: Found) -> str:
    """Return the whole page."""
    lines = [HEAD, "| what | bar | measured | load | stolen |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in _rows(found)]
    if "mesh" in found:
        lines += ["", "## Full mesh", "", MESH, ""]
        lines += [
            "| cloudlets | tunnels | seconds until all are up at both ends | processor seconds of charons | of agents |"
        ]
        lines += ["| ---: | ---: | ---: | ---: | ---: |"]
        lines += [
            f"| {n} | {n * (n - 1) // 2} | {' | '.join(map(str, rest))} |" for n, *rest in found["mesh"]["meshes"]
        ]
    return "\n".join(lines) + "\n" + TAIL


def _rows(found: Found) -> Iterable[tuple[str, ...]]:
    for name, row in ROWS.items():
        if name in found:
            part = found[name]
            stolen = _percent(part["stolen"]) if "stolen" in part else "not noted"
            said = row(part)
            yield said.what, said.bar, said.measured, f"{part['load']}", stolen


def _throughput(part: Mapping[str, Any]) -> Row:
    plain, encrypted = median(part["plain"]), median(part["encrypted"])
    busy = f"processors {_percent(median(part['plain_busy']))} and {_percent(median(part['encrypted_busy']))} busy"
    took = f"for 350 Mbit/s each charon takes {_percent(median(part['charon']))} of a processor"
    rates = f"{encrypted:.0f} of {plain:.0f} Mbit/s, turn by turn {_list(part['encrypted'])} of {_list(part['plain'])}"
    measured = f"{_percent(encrypted / plain)}: {rates} ({busy}; {took})"
    return Row("throughput, of plain", "80 % at least", measured, encrypted >= 0.8 * plain)


def _unshaped(part: Mapping[str, Any]) -> Row:
    return Row("the same without a rate", "", f"{part['encrypted']} of {part['plain']} Mbit/s")


def _rekey(part: Mapping[str, Any]) -> Row:
    total = part["answered"] + part["lost"]
    measured = f"{part['lost']} of {total:,}, {part['made']} times new keys"
    return Row("pings lost over new keys", "0 of 1,500", measured, not part["lost"] and total >= 1500)


def _dead(part: Mapping[str, Any]) -> Row:
    return Row("a dead peer is known", "12 s at most", f"after {part['seconds']} s", part["seconds"] <= 12)


def _mesh(part: Mapping[str, Any]) -> Row:
    size, seconds, *_ = part["meshes"][-1]
    return Row(f"full mesh of {size}", "under 5 s for 24", f"{seconds} s", seconds < 5 if size >= 24 else None)


def _list(rates: Iterable[float]) -> str:
    return ", ".join(f"{rate:.0f}" for rate in rates)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


ROWS = {"throughput": _throughput, "unshaped": _unshaped, "rekey": _rekey, "dead": _dead, "mesh": _mesh}

TAIL = """
## What limits it

Processors. Where the kernel has no ESP, every packet goes through three threads of a charon at either end, and both
ends, the relay and both ends of TCP share two processors. What a charon takes for 350 Mbit/s says what a cloudlet needs
that has processors of its own. On a machine that does something else meanwhile (a load above 2), or whose host does,
neither plain VXLAN nor the tunnel gets what it could: caches and wake-ups are shared even with what runs in the idle
class. Then a throughput below the bar decides nothing, and the measurement is to be made again on a quiet machine.

What was ours to mend is in [ipsec.md](ipsec.md): the queue before charon and the buffer of its socket, which lost
packets, and with them TCP's window; and charon's turn at the processor, without which it sends in bursts that the line
has no room for. In a mesh, signatures and key exchanges of all pairs are most of the work; agents
look at charon 30 ms apart at the most, and no longer at every SA that comes (24 cloudlets: 7.0 s before
that at a load of 17, 5.0 s after at one of 13).
"""
